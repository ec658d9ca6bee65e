#include "docker/images.h"
#include "docker/container.h"
#include "docker/pack.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LABEL_SOURCE  "sandbox-run.source"  /* the hash of all that it comes from */
#define LABEL_PROJECT "sandbox-run.project" /* the version of this project that built it */

static const char *const sources[] = {
        "Dockerfile.python", "Dockerfile.javascript", "Dockerfile.shell",
        "Dockerfile.go",     "Dockerfile.rust",       "Dockerfile.java",
        "Dockerfile.c",      "requirements.txt",      "package.json",
};
static const char prefix[] = "Dockerfile.";
static const char list_filter[] =
        "/images/json?filters=%7B%22label%22%3A%5B%22" LABEL_SOURCE "%22%5D%7D";

enum { EXIT_REFUSED = 125 };

struct images {
        struct daemon daemon;
        int folder; /* owned: of the sources */
        const char *base;
        bool has_packages, all, as_json;
        const char *words[32];
        size_t word_count;
};

/* ---- the sources ---- */

/* Where they lie: in a checkout above the build folder, or installed. */
static int open_sources(void)
{
        static const char *const beside[] = { "../../../containers",
                                              "../../share/sandbox/containers",
                                              "../share/sandbox/containers" };
        const char *chosen = secure_getenv("SANDBOX_CONTAINERS");
        char self[4096] = "", path[4200];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        char *slash;
        int fd = -1;

        self[n > 0 ? n : 0] = '\0';
        slash = strrchr(self, '/');
        if (chosen && *chosen)
                return open(chosen, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; slash && fd < 0 && i < ARRAY_SIZE(beside); i++) {
                (void)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self), self, beside[i]);
                fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        return fd;
}

/* Of all that the image comes from. */
static int hash_sources(const struct images *images, const char *language, char text[13],
                        struct error *err)
{
        char name[64], whole[HASH_TEXT_MAX];
        const char *const parts[] = { name, "requirements.txt", "package.json" };
        struct hash hash;

        (void)snprintf(name, sizeof(name), "%s%.40s", prefix, language);
        hash_init(&hash);
        hash_update_text(&hash, images->base);
        hash_update_text(&hash, images->has_packages ? "yes" : "no");
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                AUTO_CLOSE int fd = openat(images->folder, parts[i], O_RDONLY | O_CLOEXEC);

                if (fd < 0 || hash_update_fd(&hash, fd) < 0)
                        return error_set_errno(err, "read '%s'", parts[i]);
        }
        hash_final(&hash, whole);
        (void)snprintf(text, 13, "%.12s", whole);
        return 0;
}

bool images_know(const char *language)
{
        for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
                if (str_has_prefix(sources[i], prefix) &&
                    str_equal(sources[i] + strlen(prefix), language))
                        return true;
        return false;
}

/* ---- build ---- */

struct progress {
        struct strbuf line;
        char failure[300];
};

/* One object a line: what the engine does, or why it cannot. */
static void tell(struct progress *progress)
{
        json_t *json = json_loadb(progress->line.data ? progress->line.data : "",
                                  progress->line.length, 0, NULL);
        const char *said = json_string_value(json_object_get(json, "stream"));
        const char *wrong = json_string_value(json_object_get(json, "error"));
        char text[300];

        if (said && said[strspn(said, " \r\n")]) {
                AUTO_FREE char *line = mem_strndup(said, strcspn(said, "\r\n"));

                (void)fprintf(stderr, "%s\n", str_printable(line ? line : "", text, sizeof(text)));
        }
        if (wrong)
                (void)str_printable(wrong, progress->failure, sizeof(progress->failure));
        json_decref(json);
        progress->line.length = 0;
}

static bool hear(void *context, const char *data, size_t length)
{
        struct progress *progress = context;

        for (size_t i = 0; i < length; i++) {
                if (data[i] == '\n')
                        tell(progress);
                else
                        strbuf_add(&progress->line, data + i, 1);
                if (progress->line.length > DAEMON_ANSWER_MAX || progress->line.failed)
                        return false;
        }
        return true;
}

static size_t read_context(void *context, char *buffer, size_t size)
{
        ssize_t n = read(*(const int *)context, buffer, size);

        return n >= 0 ? (size_t)n : CURL_READFUNC_ABORT;
}

static char *build_path(const struct images *images, const char *language, const char *hash)
{
        json_t *arguments = json_pack("{s:s}", "PACKAGES", images->has_packages ? "yes" : "no");
        json_t *labels = json_pack("{s:s,s:s,s:s}", LABEL_SOURCE, hash, LABEL_PROJECT, SBX_VERSION,
                                   CONTAINER_LABEL_KIND, "image");
        AUTO_STRBUF struct strbuf path = { 0 };
        char *texts[2], *words[2];

        if (*images->base)
                (void)json_object_set_new(arguments, "BASE", json_string(images->base));
        texts[0] = json_dumps(arguments, JSON_COMPACT);
        texts[1] = json_dumps(labels, JSON_COMPACT);
        for (int i = 0; i < 2; i++)
                words[i] = texts[i] ? curl_easy_escape(images->daemon.curl, texts[i], 0) : NULL;
        strbuf_addf(&path,
                    "/build?dockerfile=%s%s&t=sandbox-run/%s:%s&t=sandbox-run/%s:latest&rm=1&"
                    "forcerm=1&buildargs=%s&labels=%s",
                    prefix, language, language, hash, language, words[0] ? words[0] : "",
                    words[1] ? words[1] : "");
        for (int i = 0; i < 2; i++) {
                curl_free(words[i]);
                free(texts[i]);
        }
        json_decref(arguments);
        json_decref(labels);
        return strbuf_take(&path);
}

static int build(struct images *images, const char *language, struct error *err)
{
        AUTO_CLOSE int archive = -1;
        AUTO_FREE char *path = NULL;
        struct progress progress = { 0 };
        struct daemon_source source = { read_context, &archive };
        struct daemon_sink sink = { hear, &progress, &source, "application/x-tar", true };
        char hash[13];
        int r = 0;

        if (!images_know(language)) {
                r = error_set(err, SBX_ELANGUAGE, "there is no image for '%.40s'", language);
                error_hint(err, "python, javascript, shell, go, rust, java or c");
                return r;
        }
        r = hash_sources(images, language, hash, err);
        if (r == 0)
                r = pack_named(images->folder, sources, ARRAY_SIZE(sources), &archive, err);
        if (r < 0)
                return r;
        path = build_path(images, language, hash);
        if (!path || lseek(archive, 0, SEEK_SET) < 0)
                return error_set_nomem(err);
        r = daemon_fetch(&images->daemon, "POST", path, &sink, err);
        tell(&progress);
        strbuf_done(&progress.line);
        if (r == 0 && progress.failure[0]) {
                r = error_set(err, SBX_ESYSTEM, "image for '%s': %s", language, progress.failure);
                error_hint(err, "'--base IMAGE' takes a base that the engine has already");
        }
        if (r == 0)
                (void)printf("sandbox-run/%s:%s\n", language, hash);
        return r;
}

/* ---- list and prune ---- */

/* An image has a line for each of its tags. */
static void print_image(const json_t *image)
{
        const json_t *tags = json_object_get(image, "RepoTags");
        double bytes = (double)json_integer_value(json_object_get(image, "Size"));

        for (size_t i = 0; i < json_array_size(tags); i++) {
                char text[128];

                (void)printf("%-40s %8.1f MiB\n",
                             str_printable(json_string_value(json_array_get(tags, i)), text,
                                           sizeof(text)),
                             bytes / (1 << 20));
        }
}

static void print_images(const json_t *images)
{
        for (size_t i = 0; i < json_array_size(images); i++)
                print_image(json_array_get(images, i));
}

static int list(struct images *images, struct error *err)
{
        json_t *answer = NULL;
        int r = daemon_call(&images->daemon, "GET", list_filter, NULL, &answer, NULL, err);

        if (r == 0 && images->as_json)
                (void)json_dumpf(answer, stdout, JSON_INDENT(2));
        else if (r == 0)
                print_images(answer);
        json_decref(answer);
        return r;
}

/* Whether one of its names is the newest of a language. */
static bool is_newest(const json_t *image)
{
        const json_t *tags = json_object_get(image, "RepoTags");

        for (size_t i = 0; i < json_array_size(tags); i++)
                if (str_has_suffix(json_string_value(json_array_get(tags, i)), ":latest"))
                        return true;
        return false;
}

static unsigned remove_images(struct images *images, const json_t *answer)
{
        unsigned count = 0;
        size_t i;
        json_t *item;

        json_array_foreach(answer, i, item)
        {
                const char *id = json_string_value(json_object_get(item, "Id"));
                char path[160];

                if (!id || strlen(id) > 100 || (is_newest(item) && !images->all))
                        continue;
                (void)snprintf(path, sizeof(path), "/images/%s?force=1", id);
                count += daemon_call(&images->daemon, "DELETE", path, NULL, NULL, NULL, NULL) == 0;
        }
        return count;
}

/* The volumes of our programs: those in use the engine keeps. */
static unsigned remove_tools(struct images *images)
{
        json_t *answer = NULL, *item;
        unsigned count = 0;
        size_t i;

        if (daemon_call(&images->daemon, "GET", "/volumes", NULL, &answer, NULL, NULL) < 0)
                return 0;
        json_array_foreach(json_object_get(answer, "Volumes"), i, item)
        {
                const char *name = json_string_value(json_object_get(item, "Name"));
                char path[160];

                if (!name || !str_has_prefix(name, "sandbox-run-") || strlen(name) > 100 ||
                    strspn(name + 12, "0123456789abcdef") != strlen(name) - 12)
                        continue;
                (void)snprintf(path, sizeof(path), "/volumes/%s", name);
                count += daemon_call(&images->daemon, "DELETE", path, NULL, NULL, NULL, NULL) == 0;
        }
        json_decref(answer);
        return count;
}

static int prune(struct images *images, struct error *err)
{
        json_t *answer = NULL;
        unsigned swept = 0, count = 0, tools = 0;
        int r = daemon_call(&images->daemon, "GET", list_filter, NULL, &answer, NULL, err);

        if (r == 0)
                r = sweep_leftovers(&images->daemon, &swept, err);
        if (r == 0) {
                count = remove_images(images, answer);
                tools = images->all ? remove_tools(images) : 0;
                (void)printf("removed %u images, %u volumes, %u leftovers of runs\n", count, tools,
                             swept);
        }
        json_decref(answer);
        return r;
}

static int clean(struct images *images, struct error *err)
{
        unsigned swept = 0;
        int r = sweep_leftovers(&images->daemon, &swept, err);

        if (r == 0)
                (void)printf("removed %u leftovers of runs\n", swept);
        return r;
}

/* ---- the command ---- */

static int build_all(struct images *images, struct error *err)
{
        int r = 0;

        if (images->folder < 0)
                return error_set(err, SBX_EUNAVAILABLE, "the sources of the images are missing");
        for (size_t i = 1; i < images->word_count && r == 0; i++)
                r = build(images, images->words[i], err);
        for (size_t i = 0; i < ARRAY_SIZE(sources) && images->word_count == 1 && r == 0; i++)
                if (str_has_prefix(sources[i], prefix))
                        r = build(images, sources[i] + strlen(prefix), err);
        return r;
}

static int perform(struct images *images, const char *command, struct error *err)
{
        static const struct {
                const char *word;
                int (*run)(struct images *images, struct error *err);
        } commands[] = { { "build", build_all }, { "list", list }, { "prune", prune } };
        const char *word = images->word_count ? images->words[0] : "list";
        int r;

        if (str_equal(command, "doctor"))
                return clean(images, err);
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                if (str_equal(commands[i].word, word))
                        return commands[i].run(images, err);
        r = error_set(err, SBX_EINVAL, "there is no command '%.40s'", word);
        error_hint(err, "build, list or prune");
        return r;
}

static const char *setting(const char *name, const char *otherwise)
{
        const char *value = secure_getenv(name);

        return value && *value ? value : otherwise;
}

static void read_words(struct images *images, int count, char **words)
{
        for (int i = 2; i < count; i++) {
                if (str_has_prefix(words[i], "--base="))
                        images->base = words[i] + strlen("--base=");
                else if (str_equal(words[i], "--no-packages"))
                        images->has_packages = false;
                else if (str_equal(words[i], "--all"))
                        images->all = true;
                else if (str_equal(words[i], "--json"))
                        images->as_json = true;
                else if (words[i][0] != '-' && images->word_count < ARRAY_SIZE(images->words))
                        images->words[images->word_count++] = words[i];
        }
}

int images_main(int count, char **words)
{
        struct images images = { .folder = open_sources(), .base = "", .has_packages = true };
        struct error err = { 0 };
        int r;

        read_words(&images, count, words);
        r = daemon_open(&images.daemon, setting("DOCKER_HOST", "unix:///var/run/docker.sock"),
                        setting("DOCKER_CERT_PATH", ""),
                        !str_equal(setting("DOCKER_TLS_VERIFY", "0"), "0"),
                        atol(setting("DOCKER_CLIENT_TIMEOUT", "0")) * 1000, &err);
        if (r == 0)
                r = daemon_greet(&images.daemon, &err);
        if (r == 0)
                r = perform(&images, words[1], &err);
        if (r < 0) {
                (void)fprintf(stderr, "sandbox: docker: %s\n", err.message);
                if (err.hint[0])
                        (void)fprintf(stderr, "hint: %s\n", err.hint);
        }
        daemon_close(&images.daemon);
        fd_close(images.folder);
        return r == 0 ? 0 : EXIT_REFUSED;
}
