/*
 * `sandbox keeper`: holds an engine whose containers are ready and whose interpreters are parked,
 * for the other commands of the same user to borrow from. It is optional: without one, a command
 * does everything by itself.
 */
#include "cli/cli.h"
#include "cli/run.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PASSED_FD = 3, BACKLOG = 64, SLOTS_MAX = 16 };

static const struct option keeper_options[] = {
        { "idle", 0, "T", false, false,
          "end by itself after so long without a command (10m; 0: never)" },
        { "slots", 0, "N", false, false, "containers at most for each kind of run (4)" },
        { "least", 0, "N", false, false,
          "containers of each kind that stay ready where nobody asks (0)" },
        { "socket", 0, "PATH", false, false, "where commands find it; else SANDBOX_KEEPER" },
        { "languages", 0, "DIR", false, false, "a folder of further language files" },
        { "status", 0, NULL, false, false,
          "show what the keeper that listens there has, and exit" },
        { "json", 0, NULL, false, false, "with --status: as JSON" },
        { "stop", 0, NULL, false, false, "end it, and what runs in its containers, and exit" },
        { "log", 0, "FILE", false, false,
          "append what becomes of containers and interpreters; '-', journald and syslog too" },
        { "quiet", 'q', NULL, false, false, "do not say where it listens, nor that it ends" },
        OPTION_HELP,
        OPTION_END,
};

/* What one keeper works on. */
struct keeper {
        char *path;                /* owned; NULL where the socket was handed to us */
        int listen_fd;             /* owned */
        char *lock_path;           /* owned */
        int lock_fd;               /* owned: held while we live */
        bool has_lock, has_socket; /* both files are ours */
        int stop_fd;               /* owned: signals that end us */
        struct run_log log;
};

/* A service manager hands the socket over, and starts us when somebody comes. */
static bool is_handed_over(void)
{
        const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

        return pid && count && strtol(pid, NULL, 10) == (long)getpid() && strcmp(count, "1") == 0;
}

static int refuse_folder(const char *folder, bool is_named, struct error *err)
{
        bool is_there = access(folder, F_OK) == 0;

        (void)error_set(err, SBX_EINVAL, "the folder '%s' %s", folder,
                        is_there ? "must be yours, and nobody else's to write" : "cannot be made");
        if (is_there && access(folder, W_OK) == 0)
                error_hint(err,
                           "name one of your own, which need not be there yet: --socket "
                           "'%s/keeper-of-%u/keeper.sock'",
                           folder, (unsigned)geteuid());
        else if (is_named)
                error_hint(err, "name one of your own with --socket");
        else
                error_hint(err, "set XDG_RUNTIME_DIR to a folder of your own, or unset it; or name "
                                "a place with --socket");
        return SBX_EINVAL;
}

/* A folder that somebody names is made, those above it are not: a slip of the pen would go
 * unnoticed. */
static int make_folder(const char *path, bool is_named, struct error *err)
{
        char folder[sizeof((struct sockaddr_un){ 0 }.sun_path)], *slash;
        AUTO_CLOSE int fd = -1;
        int r;

        (void)snprintf(folder, sizeof(folder), "%s", path); /* no longer than that */
        slash = strrchr(folder, '/');
        if (!slash || slash == folder) {
                r = error_set(err, SBX_EINVAL, "the socket '%s' needs a folder of its own", path);
                error_hint(err, "name one: './keeper/keeper.sock'");
                return r;
        }
        *slash = '\0';
        if (!is_named) {
                folder_make(folder);
        } else if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
                bool is_above = errno == ENOENT;

                r = error_set_errno(err, "make '%s'", folder);
                error_hint(err,
                           is_above ? "make the folder above it, or name another one with --socket"
                                    : "name a place where you may make a folder with --socket");
                return r;
        }
        fd = folder_open(folder);
        return fd < 0 ? refuse_folder(folder, is_named, err) : 0;
}

/* Whether the file still has its name: a keeper that ends takes the name away. */
static bool is_named(int fd)
{
        struct stat info;

        return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

static int refuse_second(const struct keeper *keeper, struct error *err)
{
        int r = error_set(err, SBX_EINVAL, "a keeper listens on '%s' already", keeper->path);

        error_hint(err, "commands use that one; another needs a socket of its own: --socket");
        return r;
}

static bool is_foreign_lock(int fd)
{
        struct stat info;

        return fstat(fd, &info) < 0 || info.st_size > 0; /* ours are empty */
}

/* Nor is a socket at which somebody listens while we have the lock: another program's, or one that
 * a service manager holds for us. */
static bool is_foreign_socket(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct stat info;

        if (lstat(path, &info) < 0)
                return false;
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        return !S_ISSOCK(info.st_mode) ||
               connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
               errno != ECONNREFUSED;
}

/* What is not of a keeper's making stays where it is. */
static int refuse_foreign(const char *path, struct error *err)
{
        int r = error_set(err, SBX_EINVAL, "'%s' is there already, and of no keeper", path);

        error_hint(err, "remove it, or name another place with --socket");
        return r;
}

/* One keeper at a time; a socket that a killed one left is in nobody's way. */
static int take_place(struct keeper *keeper, struct error *err)
{
        AUTO_STRBUF struct strbuf lock = { 0 };

        strbuf_addf(&lock, "%s.lock", keeper->path);
        keeper->lock_path = strbuf_take(&lock);
        if (!keeper->lock_path)
                return error_set_nomem(err);
        do {
                fd_close(keeper->lock_fd);
                keeper->lock_fd =
                        open(keeper->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
                if (keeper->lock_fd < 0)
                        return error_set_errno(err, "open '%s'", keeper->lock_path);
                if (flock(keeper->lock_fd, LOCK_EX | LOCK_NB) < 0)
                        return refuse_second(keeper, err);
        } while (!is_named(keeper->lock_fd));
        if (is_foreign_lock(keeper->lock_fd))
                return refuse_foreign(keeper->lock_path, err);
        keeper->has_lock = true;
        if (is_foreign_socket(keeper->path))
                return refuse_foreign(keeper->path, err);
        if (unlink(keeper->path) < 0 && errno != ENOENT)
                return error_set_errno(err, "remove '%s'", keeper->path);
        return 0;
}

static int listen_at(struct keeper *keeper, struct error *err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        mode_t before;
        int r;

        memcpy(address.sun_path, keeper->path, strlen(keeper->path) + 1);
        keeper->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (keeper->listen_fd < 0)
                return error_set_errno(err, "make a socket");
        before = umask(077);
        r = bind(keeper->listen_fd, (struct sockaddr *)&address, sizeof(address));
        (void)umask(before);
        keeper->has_socket = r == 0;
        if (r < 0 || listen(keeper->listen_fd, BACKLOG) < 0)
                return error_set_errno(err, "listen on '%s'", keeper->path);
        return 0;
}

static int refuse_nowhere(struct error *err)
{
        const char *chosen = getenv("SANDBOX_KEEPER");
        bool is_off = chosen && strcmp(chosen, "off") == 0;
        int r = error_set(err, SBX_EINVAL,
                          is_off ? "SANDBOX_KEEPER is 'off': commands would not use a keeper"
                                 : "there is no place for the socket");

        error_hint(err,
                   is_off ? "unset it, or name a socket with --socket"
                          : "set HOME or XDG_RUNTIME_DIR; or SANDBOX_KEEPER, for commands too");
        return r;
}

static int open_socket(const struct options *options, struct keeper *keeper, struct error *err)
{
        const char *path = options_value(options, "socket");
        int r;

        if (!path && is_handed_over()) {
                keeper->listen_fd = PASSED_FD;
                (void)fcntl(PASSED_FD, F_SETFD, FD_CLOEXEC);
                return 0;
        }
        keeper->path = path ? mem_strdup(path) : setup_keeper_path();
        if (!keeper->path)
                return refuse_nowhere(err);
        if (strlen(keeper->path) >= sizeof((struct sockaddr_un){ 0 }.sun_path)) {
                r = error_set(err, SBX_EINVAL, "the path of the socket is too long");
                error_hint(err, "name one of less than %zu bytes with --socket",
                           sizeof((struct sockaddr_un){ 0 }.sun_path));
                return r;
        }
        r = make_folder(keeper->path, path != NULL, err);
        if (r == 0)
                r = take_place(keeper, err);
        return r < 0 ? r : listen_at(keeper, err);
}

/* Those that the caller ignores are not for us: nohup, and shells that start something in the
 * background, do so. */
static void add_unless_ignored(sigset_t *signals, int number)
{
        struct sigaction action;

        if (sigaction(number, NULL, &action) < 0 || action.sa_handler != SIG_IGN)
                (void)sigaddset(signals, number);
}

/* Before any thread is there: all of them are deaf to these then. */
static int catch_signals(struct keeper *keeper, struct error *err)
{
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        add_unless_ignored(&signals, SIGINT);
        add_unless_ignored(&signals, SIGHUP);
        (void)sigprocmask(SIG_BLOCK, &signals, NULL);
        keeper->stop_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        return keeper->stop_fd < 0 ? error_set_errno(err, "watch for signals") : 0;
}

static int read_number(const struct options *options, const char *name, unsigned least,
                       unsigned most, unsigned *number, struct error *err)
{
        const char *text = options_value(options, name);
        char *end = NULL;
        unsigned long value = text ? strtoul(text, &end, 10) : *number;

        if (text && (*end || *text < '0' || *text > '9' || value < least || value > most))
                return error_set(err, SBX_EINVAL,
                                 "option '--%s': '%s' is not a number from %u to %u", name, text,
                                 least, most);
        *number = (unsigned)value;
        return 0;
}

static int read_numbers(const struct options *options, sbx_engine_options *wanted,
                        struct error *err)
{
        const char *idle = options_value(options, "idle");
        int r = 0;

        wanted->warm_idle_ms = 600000;
        wanted->warm_slots = 4;
        if (idle && units_parse_duration(idle, &wanted->warm_idle_ms, err) < 0) {
                error_prefix(err, "option '--idle'");
                return SBX_EINVAL;
        }
        r = read_number(options, "slots", 1, SLOTS_MAX, &wanted->warm_slots, err);
        return r < 0 ? r
                     : read_number(options, "least", 0, wanted->warm_slots, &wanted->warm_least,
                                   err);
}

static void say_where(const char *path)
{
        AUTO_STRBUF struct strbuf line = { 0 };
        AUTO_FREE char *usual = setup_keeper_path();
        bool is_usual = usual && strcmp(path, usual) == 0;
        char whole[PATH_MAX]; /* for commands of other folders */

        path = realpath(path, whole) ? whole : path;
        strbuf_addf(&line, "the keeper listens on '%s'", path);
        if (!is_usual)
                strbuf_addf(&line, "; commands find it with SANDBOX_KEEPER='%s'", path);
        if (!line.failed)
                report_line(line.data, NULL);
}

static void say_idle(uint64_t idle_ms)
{
        char after[UNITS_TEXT_MAX], line[96];

        (void)snprintf(line, sizeof(line), "the keeper ends: nobody came for %s",
                       units_format_duration(idle_ms, after));
        report_line(line, NULL);
}

static int serve(const struct options *options, struct keeper *keeper, sbx_engine_options *wanted,
                 struct error *err)
{
        AUTO_ENGINE sbx_engine *engine = NULL;
        sbx_error *failure = NULL;
        int r;

        wanted->languages_dir = options_value(options, "languages");
        wanted->slot_handler = run_log_handle;
        wanted->slot_userdata = &keeper->log;
        engine = sbx_engine_new(wanted, &failure);
        if (!engine)
                return report_take(err, failure);
        if (!options_given(options, "quiet") && keeper->path)
                say_where(keeper->path);
        r = sbx_engine_serve(engine, keeper->listen_fd, keeper->stop_fd, wanted->warm_idle_ms,
                             &failure);
        if (r < 0)
                return report_take(err, failure);
        if (r == 1 && !options_given(options, "quiet"))
                say_idle(wanted->warm_idle_ms);
        return 0;
}

/* About one that is there. */
static int ask(const struct cli *cli, const struct options *options, struct error *err)
{
        const char *named = options_value(options, "socket");
        AUTO_FREE char *path = named ? mem_strdup(named) : setup_keeper_path();

        return path ? keeper_ask(cli, options, path, err) : refuse_nowhere(err);
}

static int keeper_main(const struct cli *cli, const struct options *options, struct error *err)
{
        struct keeper keeper = {
                .listen_fd = -1, .lock_fd = -1, .stop_fd = -1, .log = { .fd = -1 }
        };
        sbx_engine_options wanted = { .size = sizeof(wanted), .serves_alone = true };
        int r = setup_refuse_words(options, err);

        if (r == 0 && keeper_is_asked(options))
                return ask(cli, options, err);
        if (r == 0)
                r = read_numbers(options, &wanted, err);
        if (r == 0)
                r = catch_signals(&keeper, err);
        if (r == 0)
                r = run_log_open(&keeper.log, NULL, options_value(options, "log"), err);
        if (r == 0)
                r = open_socket(options, &keeper, err);
        if (r == 0)
                r = serve(options, &keeper, &wanted, err);
        if (keeper.has_socket)
                (void)unlink(keeper.path);
        if (keeper.has_lock)
                (void)unlink(keeper.lock_path); /* last: until then nobody else is here */
        fd_close(keeper.listen_fd);
        fd_close(keeper.lock_fd);
        fd_close(keeper.stop_fd);
        mem_free(keeper.path);
        mem_free(keeper.lock_path);
        run_log_close(&keeper.log);
        return r;
}

const struct command cmd_keeper = {
        .name = "keeper",
        .summary = "keep interpreters warm for the other commands",
        .synopsis = "[options]",
        .uses_groups = true,
        .options = keeper_options,
        .run = keeper_main,
};
