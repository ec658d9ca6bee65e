#include "docker/daemon.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static size_t first_word(const char *text)
{
        return strcspn(text, "\r\n");
}

static int bad_host(const char *host, struct error *err)
{
        int r = error_set(err, SBX_EINVAL, "cannot use '%.100s' as a host", host);

        error_hint(err, "DOCKER_HOST is unix:///path/of/a/socket or tcp://name:port");
        return r;
}

int daemon_open(struct daemon *daemon, const char *host, const char *cert_path, bool verify,
                long timeout_ms, struct error *err)
{
        static const char unix_scheme[] = "unix://", tcp_scheme[] = "tcp://";
        AUTO_STRBUF struct strbuf base = { 0 };
        bool has_tls = cert_path && *cert_path;

        *daemon = (struct daemon){ .verify = verify,
                                   .timeout_ms = timeout_ms > 0 ? timeout_ms : DAEMON_TIMEOUT_MS };
        daemon->host = mem_strdup(host);
        if (str_has_prefix(host, unix_scheme) && host[strlen(unix_scheme)] == '/') {
                daemon->socket = mem_strdup(host + strlen(unix_scheme));
                strbuf_adds(&base, "http://localhost");
        } else if (str_has_prefix(host, tcp_scheme) && host[strlen(tcp_scheme)] &&
                   !strpbrk(host + strlen(tcp_scheme), "/?#@ ")) {
                daemon->cert_path = has_tls ? mem_strdup(cert_path) : NULL;
                strbuf_addf(&base, "%s://%s", has_tls ? "https" : "http",
                            host + strlen(tcp_scheme));
        } else {
                return bad_host(host, err);
        }
        daemon->base = strbuf_take(&base);
        daemon->curl = curl_easy_init();
        return daemon->host && daemon->base && daemon->curl ? 0 : error_set_nomem(err);
}

void daemon_close(struct daemon *daemon)
{
        if (daemon->curl)
                curl_easy_cleanup(daemon->curl);
        mem_free(daemon->host);
        mem_free(daemon->socket);
        mem_free(daemon->base);
        mem_free(daemon->cert_path);
        mem_free(daemon->profile_path);
        *daemon = (struct daemon){ 0 };
}

void daemon_dress(const struct daemon *daemon, CURL *curl)
{
        char path[4200];

        (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
        (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)DAEMON_CONNECT_MS);
        (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
        (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        if (daemon->socket)
                (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, daemon->socket);
        if (!daemon->cert_path)
                return;
        (void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, daemon->verify ? 1L : 0L);
        (void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, daemon->verify ? 2L : 0L);
        (void)snprintf(path, sizeof(path), "%s/ca.pem", daemon->cert_path);
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, path);
        (void)snprintf(path, sizeof(path), "%s/cert.pem", daemon->cert_path);
        (void)curl_easy_setopt(curl, CURLOPT_SSLCERT, path);
        (void)snprintf(path, sizeof(path), "%s/key.pem", daemon->cert_path);
        (void)curl_easy_setopt(curl, CURLOPT_SSLKEY, path);
}

/* ---- one exchange ---- */

struct exchange {
        struct daemon *daemon;
        struct strbuf answer; /* of an error, or all of it where there is no sink */
        const struct daemon_sink *sink;
        const struct daemon_source *source;
        char api[16];
        bool is_podman;
        bool is_too_much;
        char trouble[CURL_ERROR_SIZE];
};

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
        struct exchange *exchange = context;
        size_t length = size * count;
        long status = 0;

        (void)curl_easy_getinfo(exchange->daemon->curl, CURLINFO_RESPONSE_CODE, &status);
        if (exchange->sink && status < 300)
                return exchange->sink->write(exchange->sink->context, data, length) ? length : 0;
        if (exchange->answer.length + length > DAEMON_ANSWER_MAX) {
                exchange->is_too_much = true;
                return 0;
        }
        strbuf_add(&exchange->answer, data, length);
        return exchange->answer.failed ? 0 : length;
}

static size_t take_header(char *data, size_t size, size_t count, void *context)
{
        static const char name[] = "api-version:", podman[] = "libpod-api-version:";
        struct exchange *exchange = context;
        char line[64] = "";

        if (size * count < sizeof(line)) {
                memcpy(line, data, size * count);
                line[first_word(line)] = '\0';
                if (strncasecmp(line, podman, strlen(podman)) == 0)
                        exchange->is_podman = true;
                if (strncasecmp(line, name, strlen(name)) == 0)
                        (void)snprintf(exchange->api, sizeof(exchange->api), "%.15s",
                                       line + strlen(name) + strspn(line + strlen(name), " "));
        }
        return size * count;
}

static size_t give_body(char *buffer, size_t size, size_t count, void *context)
{
        const struct exchange *exchange = context;

        return exchange->source->read(exchange->source->context, buffer, size * count);
}

static int look_up(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
        const struct exchange *exchange = context;

        return exchange->daemon->is_over && exchange->daemon->is_over(exchange->daemon->context);
}

/* An answer has its time. Where files go one way or the other, that is the time in which nothing
 * moves: how long all of them take is their program's doing. */
static void set_patience(const struct exchange *exchange)
{
        const struct daemon *daemon = exchange->daemon;
        bool carries_files = exchange->sink || exchange->source;

        if (exchange->sink && exchange->sink->has_no_end)
                return;
        (void)curl_easy_setopt(daemon->curl, CURLOPT_TIMEOUT_MS,
                               daemon->timeout_ms * (carries_files ? DAEMON_FILES_FACTOR : 1));
        if (!carries_files)
                return;
        (void)curl_easy_setopt(daemon->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(daemon->curl, CURLOPT_LOW_SPEED_TIME,
                               (daemon->timeout_ms + 999) / 1000);
}

/* What curl could not do, in words of ours where people meet it. */
static int explain(const struct exchange *exchange, CURLcode code, struct error *err)
{
        const struct daemon *daemon = exchange->daemon;
        const char *why = exchange->trouble[0] ? exchange->trouble : curl_easy_strerror(code);
        long sys_errno = 0;
        int r;

        (void)curl_easy_getinfo(daemon->curl, CURLINFO_OS_ERRNO, &sys_errno);
        switch (code) {
        case CURLE_COULDNT_CONNECT:
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CACERT_BADFILE:
                r = error_set(err, SBX_EUNAVAILABLE, "cannot connect to %s: %.100s", daemon->host,
                              sys_errno ? strerror((int)sys_errno) : why);
                error_hint(err,
                           "is the daemon running, and may this user open its socket? "
                           "DOCKER_HOST says where it is; '--fallback container' does without");
                return r;
        case CURLE_OPERATION_TIMEDOUT:
                r = error_set(err, SBX_EUNAVAILABLE, "%s did not answer within %ld s", daemon->host,
                              daemon->timeout_ms / 1000);
                error_hint(err, "DOCKER_CLIENT_TIMEOUT gives it more seconds");
                return r;
        case CURLE_ABORTED_BY_CALLBACK:
                return error_set(err, SBX_ESYSTEM, "the run was ended");
        case CURLE_OUT_OF_MEMORY:
                return error_set_nomem(err);
        default:
                return error_set(err, SBX_EUNAVAILABLE, "%s gave no proper answer: %.100s",
                                 daemon->host, exchange->is_too_much ? "it is too long" : why);
        }
}

/* The daemon's own words about what it did not do. */
static int refuse(const struct exchange *exchange, long status, struct error *err)
{
        json_error_t fault;
        json_t *json = json_loadb(exchange->answer.data ? exchange->answer.data : "",
                                  exchange->answer.length, 0, &fault);
        const char *message = json_string_value(json_object_get(json, "message"));
        char text[512];

        (void)str_printable(message ? message : "(no reason given)", text, sizeof(text));
        (void)error_set(err, SBX_EUNAVAILABLE, "the daemon answered %ld: %s", status, text);
        json_decref(json);
        return SBX_EUNAVAILABLE;
}

static int perform(struct exchange *exchange, const char *method, const char *path,
                   const char *type, const char *body, size_t length, long *ret_status,
                   struct error *err)
{
        struct daemon *daemon = exchange->daemon;
        CURL *curl = daemon->curl;
        AUTO_STRBUF struct strbuf url = { 0 }, header = { 0 };
        struct curl_slist *headers = NULL;
        long status = 0;
        CURLcode code;
        int r = 0;

        strbuf_adds(&url, daemon->base);
        if (daemon->api)
                strbuf_addf(&url, "/v1.%u", daemon->api);
        strbuf_adds(&url, path);
        strbuf_addf(&header, "Content-Type: %s", type ? type : "application/json");
        headers = curl_slist_append(headers, header.data ? header.data : "");
        headers = curl_slist_append(headers, "Expect:");
        if (url.failed || header.failed || !headers)
                return error_set_nomem(err);
        curl_easy_reset(curl); /* the connection stays */
        daemon_dress(daemon, curl);
        (void)curl_easy_setopt(curl, CURLOPT_URL, url.data);
        (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
        (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, exchange->trouble);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
        (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
        (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
        (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, exchange);
        set_patience(exchange);
        if (exchange->source) {
                (void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
                (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
                (void)curl_easy_setopt(curl, CURLOPT_READDATA, exchange);
        } else if (body || strcmp(method, "POST") == 0) {
                (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body ? body : "");
                (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)length);
        }
        code = curl_easy_perform(curl);
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        if (code != CURLE_OK)
                r = explain(exchange, code, err);
        else if (status >= 400 || status < 200)
                r = refuse(exchange, status, err);
        if (ret_status)
                *ret_status = status;
        curl_slist_free_all(headers);
        return r;
}

int daemon_call(struct daemon *daemon, const char *method, const char *path, const json_t *body,
                json_t **ret_answer, long *ret_status, struct error *err)
{
        struct exchange exchange = { .daemon = daemon };
        char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
        json_error_t fault;
        int r;

        if (body && !text)
                return error_set_nomem(err);
        r = perform(&exchange, method, path, NULL, text, text ? strlen(text) : 0, ret_status, err);
        if (r == 0 && ret_answer) {
                *ret_answer = json_loadb(exchange.answer.data ? exchange.answer.data : "",
                                         exchange.answer.length, JSON_DISABLE_EOF_CHECK, &fault);
                if (!*ret_answer)
                        r = error_set(err, SBX_EUNAVAILABLE,
                                      "%s gave no proper answer to '%s %.60s': %.80s", daemon->host,
                                      method, path, fault.text);
        }
        strbuf_done(&exchange.answer);
        free(text);
        return r;
}

int daemon_put(struct daemon *daemon, const char *method, const char *path, const char *type,
               const struct daemon_source *source, struct strbuf *ret_answer, struct error *err)
{
        struct exchange exchange = { .daemon = daemon, .source = source };
        int r = perform(&exchange, method, path, type, NULL, 0, NULL, err);

        if (r == 0 && ret_answer)
                *ret_answer = exchange.answer;
        else
                strbuf_done(&exchange.answer);
        return r;
}

int daemon_fetch(struct daemon *daemon, const char *method, const char *path,
                 const struct daemon_sink *sink, struct error *err)
{
        struct exchange exchange = { .daemon = daemon, .sink = sink, .source = sink->source };
        int r = perform(&exchange, method, path, sink->type, NULL, 0, NULL, err);

        strbuf_done(&exchange.answer);
        return r;
}

int daemon_greet(struct daemon *daemon, struct error *err)
{
        struct exchange exchange = { .daemon = daemon };
        unsigned major = 0, minor = 0;
        char rest;
        int r = perform(&exchange, "GET", "/_ping", NULL, NULL, 0, NULL, err);

        strbuf_done(&exchange.answer);
        if (r < 0)
                return r;
        if (sscanf(exchange.api, "%u.%u%c", &major, &minor, &rest) != 2 || major != 1)
                return error_set(err, SBX_EUNAVAILABLE,
                                 "%s gave no proper answer: it names no version of the API",
                                 daemon->host);
        if (minor < DAEMON_API_OLDEST)
                return error_set(err, SBX_EUNAVAILABLE,
                                 "%s speaks version 1.%u of the API, and 1.%d is the oldest that "
                                 "is understood",
                                 daemon->host, minor, DAEMON_API_OLDEST);
        daemon->is_podman = exchange.is_podman;
        daemon->api = minor < DAEMON_API_NEWEST ? minor : DAEMON_API_NEWEST;
        return 0;
}
