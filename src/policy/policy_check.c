/* What paths, mounts, variables and network destinations must look like. */
#include "policy/policy_keys.h"
#include "base/path.h"
#include "base/str.h"
#include "request/request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 128, HOST_MAX = 253, LABEL_MAX = 63, MODULE_MAX = 128 };

int policy_check_path(const char *path, struct error *err)
{
        if (*path == '\0')
                return error_set(err, SBX_EINVAL, "the path is empty");
        if (strlen(path) > POLICY_PATH_MAX)
                return error_set(err, SBX_EINVAL, "the path is longer than %d bytes",
                                 POLICY_PATH_MAX);
        return 0;
}

/* ---- mounts ---- */

/* What the sandbox itself builds; a mount there would replace a part of the walls. */
static const struct {
        const char *path;
        bool and_beneath;
} reserved[] = {
        { "/proc", true }, { "/sys", true },          { "/dev", true },   { "/etc", false },
        { "/tmp", false }, { "/usr", false },         { "/bin", false },  { "/sbin", false },
        { "/lib", false }, { "/lib64", false },       { "/code", false }, { "/workspace", false },
        { "/wasm", true }, { "/sandbox-wasm", true },
};

static bool is_reserved(const char *target)
{
        for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
                if (str_equal(target, reserved[i].path) ||
                    (reserved[i].and_beneath && path_is_below(target, reserved[i].path)))
                        return true;
        return false;
}

/* Leaves out "//", "/./" and the slash at the end. `buffer` has room for all of `target`. */
static int normalise_target(const char *target, char *buffer, struct error *err)
{
        size_t used = 0;

        for (const char *p = target; *p;) {
                size_t length;

                p += strspn(p, "/");
                length = strcspn(p, "/");
                if (length == 2 && memcmp(p, "..", 2) == 0)
                        return error_set(err, SBX_EINVAL, "the target must not hold '..'");
                if (length > 0 && !(length == 1 && *p == '.')) {
                        buffer[used++] = '/';
                        memcpy(buffer + used, p, length);
                        used += length;
                }
                p += length;
        }
        buffer[used] = '\0';
        return used > 0 ? 0 : error_set(err, SBX_EINVAL, "the target must not be '/'");
}

static int check_target(const char *target, char buffer[POLICY_PATH_MAX + 1], struct error *err)
{
        char shown[SHOWN_MAX];
        int r = policy_check_path(target, err);

        if (r < 0) {
                error_prefix(err, "target");
                return r;
        }
        (void)str_printable(target, shown, sizeof(shown));
        if (*target != '/')
                return error_set(err, SBX_EINVAL, "the target '%s' is not absolute", shown);
        for (const unsigned char *p = (const unsigned char *)target; *p; p++)
                if (*p < 0x20 || *p == 0x7f)
                        return error_set(err, SBX_EINVAL, "the target '%s' holds a control byte",
                                         shown);
        r = normalise_target(target, buffer, err);
        if (r < 0)
                return r;
        if (is_reserved(buffer)) {
                r = error_set(err, SBX_EINVAL, "the target '%s' belongs to the sandbox", shown);
                error_hint(err, "mount elsewhere, for example at /data");
                return r;
        }
        return 0;
}

struct policy_mount *policy_mount_find(const struct policy_values *values, const char *target)
{
        for (size_t i = 0; i < values->mount_count; i++)
                if (strcmp(values->mounts[i].target, target) == 0)
                        return &values->mounts[i];
        return NULL;
}

static int check_mount(const char *source, const char *target, const char *mode,
                       char normal[POLICY_PATH_MAX + 1], struct error *err)
{
        char shown[SHOWN_MAX];
        int r = policy_check_path(source, err);

        if (r < 0) {
                error_prefix(err, "source");
                return r;
        }
        r = check_target(target, normal, err);
        if (r < 0)
                return r;
        if (mode && strcmp(mode, "ro") != 0 && strcmp(mode, "rw") != 0)
                return error_set(err, SBX_EINVAL, "the mode must be 'ro' or 'rw', not '%s'",
                                 str_printable(mode, shown, sizeof(shown)));
        return 0;
}

int policy_add_mount(struct policy_values *values, const char *source, const char *target,
                     const char *mode, struct error *err)
{
        char normal[POLICY_PATH_MAX + 1], shown[SHOWN_MAX];
        AUTO_FREE char *source_copy = NULL;
        AUTO_FREE char *target_copy = NULL;
        int r = check_mount(source, target, mode, normal, err);

        if (r < 0)
                return r;
        if (policy_mount_find(values, normal)) {
                r = error_set(err, SBX_EINVAL, "the target '%s' is mounted twice",
                              str_printable(normal, shown, sizeof(shown)));
                error_hint(err, "decide for one source and one mode");
                return r;
        }
        if (values->mount_count >= POLICY_MOUNTS_MAX)
                return error_set(err, SBX_EINVAL, "more than %d mounts", POLICY_MOUNTS_MAX);
        source_copy = mem_strdup(source);
        target_copy = mem_strdup(normal);
        if (!source_copy || !target_copy ||
            MEM_GROW(values->mounts, values->mount_count, values->mount_capacity) < 0)
                return error_set_nomem(err);
        values->mounts[values->mount_count++] = (struct policy_mount){
                .source = TAKE(source_copy),
                .target = TAKE(target_copy),
                .writable = mode && strcmp(mode, "rw") == 0,
        };
        values->given |= policy_field_bit(FIELD_MOUNTS);
        return 0;
}

/* ---- environment of the program ---- */

size_t policy_env_find(const struct strlist *env, const char *name, size_t length)
{
        size_t i;

        for (i = 0; i < env->count; i++)
                if (strncmp(env->items[i], name, length) == 0 && env->items[i][length] == '=')
                        break;
        return i;
}

static int check_env_name(const char *name, struct error *err)
{
        char shown[SHOWN_MAX];
        size_t length = 0;
        int r;

        for (; name[length]; length++) {
                unsigned char c = (unsigned char)name[length];
                bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';

                if (!is_letter && !(length > 0 && c >= '0' && c <= '9'))
                        break;
        }
        if (name[length] == '\0' && length > 0 && length <= POLICY_ENV_NAME_MAX)
                return 0;
        r = error_set(err, SBX_EINVAL, "bad variable name '%s'",
                      str_printable(name, shown, sizeof(shown)));
        error_hint(err, "a name is letters, digits and '_', and does not begin with a digit");
        return r;
}

/* `replaced` is the index of the entry that goes away, or the count. */
static int check_env_size(const struct policy_values *values, const char *name, size_t added,
                          size_t replaced, struct error *err)
{
        const struct strlist *env = &values->env;
        size_t sum = values->env_bytes + added;

        if (added > REQUEST_STRING_MAX)
                return error_set(err, SBX_EINVAL, "env.%.64s is larger than %d KiB", name,
                                 REQUEST_STRING_MAX >> 10);
        if (replaced < env->count)
                sum -= strlen(env->items[replaced]) + 1;
        if (sum > REQUEST_STRINGS_MAX)
                return error_set(err, SBX_EINVAL, "the environment is larger than %d KiB",
                                 REQUEST_STRINGS_MAX >> 10);
        if (replaced == env->count && env->count >= POLICY_ENV_MAX)
                return error_set(err, SBX_EINVAL, "more than %d environment variables",
                                 POLICY_ENV_MAX);
        return 0;
}

int policy_add_env(struct policy_values *values, const char *name, const char *value,
                   struct error *err)
{
        AUTO_STRBUF struct strbuf entry = { 0 };
        AUTO_FREE char *text = NULL;
        size_t length = strlen(name), index;
        int r = check_env_name(name, err);

        if (r < 0)
                return r;
        index = policy_env_find(&values->env, name, length);
        r = check_env_size(values, name, length + strlen(value) + 2, index, err);
        if (r < 0)
                return r;
        strbuf_adds(&entry, name);
        strbuf_adds(&entry, "=");
        strbuf_adds(&entry, value);
        text = strbuf_take(&entry);
        if (!text)
                return error_set_nomem(err);
        if (index < values->env.count) {
                values->env_bytes -= strlen(values->env.items[index]) + 1;
                mem_free(values->env.items[index]);
                values->env.items[index] = TAKE(text);
        } else if (strlist_add(&values->env, text) < 0) {
                return error_set_nomem(err);
        }
        values->env_bytes += length + strlen(value) + 2;
        values->given |= policy_field_bit(FIELD_ENV);
        return 0;
}

/* ---- network destinations ---- */

/* 1 to 65535, or two of them with a dash, the first not above the second. */
static bool is_port_range(const char *text)
{
        unsigned ports[2] = { 0, 0 };
        int count = 0;

        for (;;) {
                size_t digits = strspn(text, "0123456789");

                if (digits == 0 || digits > 5 || *text == '0')
                        return false;
                for (size_t i = 0; i < digits; i++)
                        ports[count] = ports[count] * 10 + (unsigned)(text[i] - '0');
                if (ports[count] > 65535)
                        return false;
                count++;
                text += digits;
                if (*text == '\0')
                        return count == 1 || ports[0] <= ports[1];
                if (*text != '-' || count == 2)
                        return false;
                text++;
        }
}

static bool is_address(const char *host, unsigned *ret_bits)
{
        unsigned char bytes[16];

        *ret_bits = strchr(host, ':') ? 128 : 32;
        return inet_pton(*ret_bits == 128 ? AF_INET6 : AF_INET, host, bytes) == 1;
}

/* "address/bits". Cuts `host` at the slash. */
static bool is_cidr(char *host, char *slash)
{
        unsigned bits, wanted = 0;
        size_t digits = strspn(slash + 1, "0123456789");

        *slash = '\0';
        if (digits == 0 || digits > 3 || slash[1 + digits] || (slash[1] == '0' && digits > 1))
                return false;
        for (size_t i = 1; i <= digits; i++)
                wanted = wanted * 10 + (unsigned)(slash[i] - '0');
        return is_address(host, &bits) && wanted <= bits;
}

/* Labels of letters, digits, '-' and '_'. A last label of digits alone is refused: it is a mistyped
 * address. */
static bool is_host_name(const char *host)
{
        bool all_digits = true;

        if (strlen(host) > HOST_MAX)
                return false;
        for (const char *p = host;; p++) {
                size_t length = strcspn(p, ".");

                if (length == 0 || length > LABEL_MAX || p[0] == '-' || p[length - 1] == '-')
                        return false;
                all_digits = true;
                for (size_t i = 0; i < length; i++) {
                        unsigned char c = (unsigned char)p[i];

                        if (c >= 0x80 || (!isalnum(c) && c != '-' && c != '_'))
                                return false;
                        all_digits = all_digits && isdigit(c);
                }
                p += length;
                if (*p == '\0')
                        return !all_digits;
        }
}

/* Cuts the port off `text`; what remains in `*host` is a host. False when the port is wrong. */
static bool split_port(char *text, char **host)
{
        char *colon = strrchr(text, ':');

        *host = text;
        if (*text == '[') {
                char *end = strchr(text, ']');

                if (!end || (end[1] && end[1] != ':'))
                        return false;
                *end = '\0';
                *host = text + 1;
                if (!strchr(*host, ':')) /* brackets are for IPv6 alone */
                        return false;
                return end[1] == '\0' || is_port_range(end + 2);
        }
        /* More than one colon without brackets is a bare IPv6 address. */
        if (!colon || strchr(text, ':') != colon)
                return true;
        *colon = '\0';
        return is_port_range(colon + 1);
}

/* "/udp" stands behind one port of one host. Cuts it off. */
static bool split_protocol(char *text)
{
        const char *port;

        if (!str_has_suffix(text, "/udp"))
                return true;
        text[strlen(text) - 4] = '\0';
        port = strrchr(text, ':');
        if (!port || strchr(port, '-') || strchr(text, '/'))
                return false;
        return *text == '[' ? port[-1] == ']' : strchr(text, ':') == port && *text != '*';
}

static bool is_destination(char *text)
{
        char *host, *slash;
        unsigned bits;

        if (!split_protocol(text) || !split_port(text, &host))
                return false;
        slash = strchr(host, '/');
        if (slash)
                return is_cidr(host, slash);
        if (str_has_prefix(host, "*."))
                return strchr(host + 2, '.') && is_host_name(host + 2);
        return is_address(host, &bits) || is_host_name(host);
}

int policy_add_preload(struct policy_values *values, const char *module, struct error *err)
{
        static const char letters[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
        size_t length = strlen(module);
        char shown[SHOWN_MAX];

        if (length == 0 || length > MODULE_MAX || strspn(module, letters) != length ||
            module[0] == '.' || (module[0] >= '0' && module[0] <= '9')) {
                (void)error_set(err, SBX_EINVAL, "bad module name '%s'",
                                str_printable(module, shown, sizeof(shown)));
                error_hint(err, "a name as after 'import': preload: [numpy, matplotlib.pyplot]");
                return SBX_EINVAL;
        }
        if (values->preload.count >= POLICY_PRELOAD_MAX)
                return error_set(err, SBX_EINVAL, "more than %d modules", POLICY_PRELOAD_MAX);
        if (strlist_add(&values->preload, module) < 0)
                return error_set_nomem(err);
        values->given |= policy_field_bit(FIELD_PRELOAD);
        return 0;
}

static int add_destination(struct strlist *list, const char *destination, struct error *err)
{
        char copy[HOST_MAX + 64], shown[SHOWN_MAX];
        size_t length = strlen(destination);
        int r;

        (void)snprintf(copy, sizeof(copy), "%s", destination);
        if (length == 0 || length >= sizeof(copy) || !is_destination(copy)) {
                r = error_set(err, SBX_EINVAL, "bad network destination '%s'",
                              str_printable(destination, shown, sizeof(shown)));
                error_hint(err, "write a name, *.name.org, an address or a CIDR, each with an "
                                "optional :PORT or :PORT-PORT, or HOST:PORT/udp; international "
                                "names as xn--...");
                return r;
        }
        if (list->count >= POLICY_ALLOW_MAX)
                return error_set(err, SBX_EINVAL, "more than %d destinations", POLICY_ALLOW_MAX);
        return strlist_add(list, destination) < 0 ? error_set_nomem(err) : 0;
}

int policy_add_allow(struct policy_values *values, const char *destination, struct error *err)
{
        int r = add_destination(&values->network_allow, destination, err);

        if (r == 0)
                values->given |= policy_field_bit(FIELD_NETWORK_ALLOW);
        return r;
}

int policy_add_deny(struct policy_values *values, const char *destination, struct error *err)
{
        int r = add_destination(&values->network_deny, destination, err);

        if (r == 0)
                values->given |= policy_field_bit(FIELD_NETWORK_DENY);
        return r;
}
