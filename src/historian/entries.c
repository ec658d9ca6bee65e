/* Records by filters, by identifier, by time. */
#include "historian/historian.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int entry_age(const char *text, uint64_t *ret_seconds, struct error *err)
{
        size_t length = strlen(text);
        AUTO_FREE char *number = NULL;
        uint64_t value;
        int r;

        if (length > 1 && (text[length - 1] == 'd' || text[length - 1] == 'w')) {
                number = mem_strndup(text, length - 1);
                if (!number)
                        return error_set_nomem(err);
                r = units_parse_count(number, &value, err);
                if (r == 0 && value > 36500)
                        r = error_set(err, SBX_EINVAL, "'%.40s' is too long ago", text);
                *ret_seconds = r == 0 ? value * 86400 * (text[length - 1] == 'w' ? 7 : 1) : 0;
                return r;
        }
        r = units_parse_duration(text, &value, err);
        *ret_seconds = r == 0 ? value / 1000 : 0;
        return r;
}

void entry_stamp_ago(uint64_t seconds, char ret_stamp[CLOCK_STAMP_MAX])
{
        time_t then = time(NULL) - (time_t)seconds;
        struct tm parts = { 0 };

        (void)gmtime_r(&then, &parts);
        (void)strftime(ret_stamp, CLOCK_STAMP_MAX, "%Y-%m-%dT%H:%M:%S.000Z", &parts);
}

/* Stamps of the journal are compared as texts, so a beginning of one is a time as well. */
static bool is_stamp(const char *text)
{
        static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
        size_t length = strlen(text);

        if (length < 4 || length >= sizeof(form))
                return false;
        for (size_t i = 0; i < length; i++)
                if (form[i] == 'd' ? !isdigit((unsigned char)text[i])
                                   : text[i] != form[i] && text[i] != 'Z')
                        return false;
        return true;
}

int entry_time(const char *text, char ret_stamp[CLOCK_STAMP_MAX], struct error *err)
{
        uint64_t seconds;
        char shown[64];
        size_t length;
        int r;

        if (strchr(text, '-') && is_stamp(text)) {
                (void)snprintf(ret_stamp, CLOCK_STAMP_MAX, "%s", text);
                length = strlen(ret_stamp);
                if (length < 24 && ret_stamp[length - 1] == 'Z')
                        ret_stamp[length - 1] = '\0';
                return 0;
        }
        r = entry_age(text, &seconds, err);
        if (r < 0) {
                r = error_set(err, SBX_EINVAL, "'%s' is no time",
                              str_printable(text, shown, sizeof(shown)));
                error_hint(err, "2h or 7d (ago), 2026-11-15, or 2026-11-15T06:04:11Z");
                return r;
        }
        entry_stamp_ago(seconds, ret_stamp);
        return 0;
}

static void add_condition(struct query *query, const char *sql, const char *value)
{
        strbuf_addf(&query->where, " AND %s", sql);
        if (strlist_add(&query->values, value) < 0)
                query->where.failed = true;
}

static int add_time(struct query *query, const struct options *options, const char *name,
                    const char *sql, struct error *err)
{
        const char *text = options_value(options, name);
        char stamp[CLOCK_STAMP_MAX];
        int r = text ? entry_time(text, stamp, err) : 0;

        if (r < 0)
                error_prefix(err, "option '--%s'", name);
        else if (text)
                add_condition(query, sql, stamp);
        return r;
}

static int add_user(struct query *query, const char *user, struct error *err)
{
        const struct passwd *entry = getpwnam(user);
        char number[32], shown[80];

        if (entry)
                (void)snprintf(number, sizeof(number), "%u", (unsigned)entry->pw_uid);
        else if (user[strspn(user, "0123456789")] == '\0' && strlen(user) < 12)
                (void)snprintf(number, sizeof(number), "%s", user);
        else
                return error_set(err, SBX_EINVAL, "option '--user': no such user '%s'",
                                 str_printable(user, shown, sizeof(shown)));
        add_condition(query, "uid = CAST(? AS INTEGER)", number);
        return 0;
}

/* "error" is everything that did not end well. */
static int add_status(struct query *query, const struct archive *archive, const char *status,
                      struct error *err)
{
        int r = 0;

        strbuf_adds(&query->where, " AND (0");
        while (r == 0 && *status) {
                size_t length = strcspn(status, ",");
                AUTO_FREE char *name = mem_strndup(status, length);

                if (!name)
                        return error_set_nomem(err);
                if (strcmp(name, "error") == 0) {
                        strbuf_adds(&query->where, " OR status <> 'ok'");
                } else {
                        r = name_status(archive, name, err);
                        strbuf_adds(&query->where, " OR status = ?");
                        if (strlist_add(&query->values, name) < 0)
                                query->where.failed = true;
                }
                status += length + (status[length] == ',');
        }
        strbuf_adds(&query->where, ")");
        return r;
}

/* Those that name something of which there is a list. */
static int add_names(struct query *query, const struct archive *archive, struct error *err)
{
        const char *language = options_value(archive->options, "lang");
        const char *backend = options_value(archive->options, "backend");
        const char *status = options_value(archive->options, "status");
        AUTO_FREE char *own_name = NULL;
        int r = language ? name_language(archive, language, &own_name, err) : 0;

        if (r == 0 && language)
                add_condition(query, "language = ?", own_name);
        if (r == 0 && backend)
                r = name_backend(archive, backend, err);
        if (r == 0 && backend)
                add_condition(query, "backend = ?", backend);
        return r == 0 && status ? add_status(query, archive, status, err) : r;
}

int query_init(struct query *query, const struct archive *archive, int64_t limit, struct error *err)
{
        const struct options *options = archive->options;
        static const struct {
                const char *option, *sql;
        } texts[] = {
                { "name", "name = ?" },
                { "text", "instr(lower(line), lower(?)) > 0" },
        };
        const char *user = options_value(options, "user"), *value = options_value(options, "limit");
        uint64_t count;
        int r;

        *query = (struct query){ .limit = limit };
        strbuf_adds(&query->where, "kind = 'run'");
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (options_value(options, texts[i].option))
                        add_condition(query, texts[i].sql, options_value(options, texts[i].option));
        r = add_names(query, archive, err);
        if (r == 0)
                r = add_time(query, options, "since", "started_at >= ?", err);
        if (r == 0)
                r = add_time(query, options, "until", "started_at <= ?", err);
        if (r == 0 && user)
                r = add_user(query, user, err);
        if (r == 0 && value) {
                r = units_parse_count(value, &count, err);
                if (r < 0)
                        error_prefix(err, "option '--limit'");
                query->limit = r == 0 && count < INT32_MAX ? (int64_t)count : 0;
        }
        if (r == 0 && query->where.failed)
                r = error_set_nomem(err);
        return r;
}

void query_done(struct query *query)
{
        strbuf_done(&query->where);
        strlist_done(&query->values);
}

static int visit(const struct archive *archive, sqlite3_stmt *ask, entry_visitor see, void *context,
                 struct error *err)
{
        int step, r = 0;

        while (r == 0 && (step = sqlite3_step(ask)) == SQLITE_ROW)
                r = see(context, (uint64_t)sqlite3_column_int64(ask, 0),
                        (const char *)sqlite3_column_text(ask, 1), err);
        return r == 0 && step != SQLITE_DONE ? index_fail(archive, err) : r;
}

int query_run(const struct archive *archive, const struct query *query, uint64_t after,
              entry_visitor see, void *context, struct error *err)
{
        AUTO_STRBUF struct strbuf sql = { 0 };
        sqlite3_stmt *ask = NULL;
        int r;

        if (!archive->db)
                return 0;
        strbuf_addf(&sql,
                    "SELECT seq, line FROM (SELECT seq, line FROM records WHERE %s AND seq > %lld "
                    "ORDER BY seq DESC LIMIT %lld) ORDER BY seq",
                    query->where.data, (long long)after,
                    query->limit > 0 ? (long long)query->limit : -1LL);
        if (sql.failed)
                return error_set_nomem(err);
        if (sqlite3_prepare_v2(archive->db, sql.data, -1, &ask, NULL) != SQLITE_OK)
                return index_fail(archive, err);
        for (size_t i = 0; i < query->values.count; i++)
                (void)sqlite3_bind_text(ask, (int)i + 1, query->values.items[i], -1, SQLITE_STATIC);
        r = visit(archive, ask, see, context, err);
        (void)sqlite3_finalize(ask);
        return r;
}

struct found {
        char *line;
        size_t count;
};

static int take_found(void *context, uint64_t seq, const char *line, struct error *err)
{
        struct found *found = context;

        (void)seq;
        if (found->count++ == 0)
                found->line = mem_strdup(line);
        return found->line ? 0 : error_set_nomem(err);
}

int entry_find(const struct archive *archive, const char *id, char **ret_line, struct error *err)
{
        struct query query = { .limit = strcmp(id, "last") == 0 ? 1 : 2 };
        struct found found = { 0 };
        char shown[80], upper[40];
        size_t i;
        int r;

        for (i = 0; i < sizeof(upper) - 1 && isalnum((unsigned char)id[i]); i++)
                upper[i] = (char)toupper((unsigned char)id[i]);
        upper[i] = '\0';
        strbuf_adds(&query.where, "kind = 'run'");
        if (query.limit == 2)
                /* Lists show the whole of it, `sandbox top` its end. */
                add_condition(&query, "?1 IN (substr(id, 1, length(?1)), substr(id, -length(?1)))",
                              upper);
        r = query.where.failed ? error_set_nomem(err) : 0;
        if (r == 0 && id[i] == '\0' && i > 0)
                r = query_run(archive, &query, 0, take_found, &found, err);
        query_done(&query);
        str_printable(id, shown, sizeof(shown));
        if (r == 0 && found.count == 0)
                r = error_set(err, SBX_EINVAL, "history: no run '%s' is recorded", shown);
        else if (r == 0 && found.count > 1)
                r = error_set(err, SBX_EINVAL,
                              "history: more than one run begins or ends with '%s'", shown);
        if (r == SBX_EINVAL)
                error_hint(err, "'sandbox history' lists the runs with their ids");
        if (r < 0)
                mem_free(found.line);
        else
                *ret_line = found.line;
        return r;
}
