/* The words of filters: what they name must be something there is, or a question with a slip in it
 * would be answered with "nothing". What records name is there too: they outlive a language. */
#include "historian/historian.h"
#include "base/mem.h"

#include <string.h>

static const char *const backends[] = { "container", "local", "docker", "wasm" };

static bool is_recorded(const struct archive *archive, const char *sql, const char *name)
{
        sqlite3_stmt *ask = NULL;
        bool found = false;

        if (archive->db && sqlite3_prepare_v2(archive->db, sql, -1, &ask, NULL) == SQLITE_OK) {
                (void)sqlite3_bind_text(ask, 1, name, -1, SQLITE_STATIC);
                found = sqlite3_step(ask) == SQLITE_ROW;
        }
        (void)sqlite3_finalize(ask);
        return found;
}

int name_language(const struct archive *archive, const char *name, char **ret_name,
                  struct error *err)
{
        AUTO_ENGINE sbx_engine *engine = NULL;
        sbx_error *failure = NULL;
        char *known = NULL;

        if (!is_recorded(archive, "SELECT 1 FROM records WHERE language = ? LIMIT 1", name)) {
                engine = sbx_engine_new(NULL, &failure);
                known = engine ? sbx_language_name(engine, name, &failure) : NULL;
                if (!known) {
                        int r = report_take(err, failure);

                        error_prefix(err, "option '--lang'");
                        return r;
                }
                name = known;
        }
        *ret_name = mem_strdup(name);
        sbx_string_free(known);
        return *ret_name ? 0 : error_set_nomem(err);
}

int name_backend(const struct archive *archive, const char *name, struct error *err)
{
        char shown[80];
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
                if (strcmp(name, backends[i]) == 0)
                        return 0;
        if (is_recorded(archive, "SELECT 1 FROM records WHERE backend = ? LIMIT 1", name))
                return 0;
        r = error_set(err, SBX_EINVAL, "option '--backend': no such backend '%s'",
                      str_printable(name, shown, sizeof(shown)));
        error_hint(err, "the backends are container, local, docker and wasm");
        return r;
}

int name_status(const struct archive *archive, const char *name, struct error *err)
{
        AUTO_STRBUF struct strbuf all = { 0 };
        char shown[80];
        int r;

        for (unsigned i = 0; i < OUTCOME_COUNT; i++) {
                if (strcmp(name, outcome_name((enum outcome)i)) == 0)
                        return 0;
                strbuf_addf(&all, "%s, ", outcome_name((enum outcome)i));
        }
        if (is_recorded(archive, "SELECT 1 FROM records WHERE status = ? LIMIT 1", name))
                return 0;
        r = error_set(err, SBX_EINVAL, "option '--status': no such status '%s'",
                      str_printable(name, shown, sizeof(shown)));
        error_hint(err, "one of: %sor error, which is all but ok", all.data ? all.data : "");
        return r;
}
