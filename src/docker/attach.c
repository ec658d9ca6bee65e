/* Attaching: an HTTP request after which the connection is no longer HTTP. */
#include "docker/daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_MAX = 16 << 10 };

static int broken(const struct daemon *daemon, const char *why, struct error *err)
{
        return error_set(err, SBX_EUNAVAILABLE, "%s does not let us attach: %s", daemon->host, why);
}

static bool wait_for(int fd, short events, long timeout_ms)
{
        struct pollfd waits = { .fd = fd, .events = events };
        int r;

        do {
                r = poll(&waits, 1, (int)timeout_ms);
        } while (r < 0 && errno == EINTR);
        return r > 0;
}

static int send_request(const struct daemon *daemon, CURL *curl, int fd, const char *path,
                        struct error *err)
{
        AUTO_STRBUF struct strbuf text = { 0 };
        size_t done = 0;

        strbuf_addf(&text,
                    "POST /v1.%u%s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                    "Upgrade: tcp\r\nContent-Length: 0\r\n\r\n",
                    daemon->api, path);
        if (text.failed)
                return error_set_nomem(err);
        while (done < text.length) {
                size_t n = 0;
                CURLcode code = curl_easy_send(curl, text.data + done, text.length - done, &n);

                if (code == CURLE_AGAIN && wait_for(fd, POLLOUT, daemon->timeout_ms))
                        continue;
                if (code != CURLE_OK)
                        return broken(daemon, curl_easy_strerror(code), err);
                done += n;
        }
        return 0;
}

/* The daemon's own words, where the answer has some. */
static int explain(const struct daemon *daemon, const char *body, struct error *err)
{
        json_t *json = json_loads(body, JSON_DISABLE_EOF_CHECK, NULL);
        const char *message = json_string_value(json_object_get(json, "message"));
        char text[512];
        int r = broken(daemon,
                       message ? str_printable(message, text, sizeof(text))
                               : "the answer is not understood",
                       err);

        json_decref(json);
        return r;
}

/* Reads up to the empty line; what comes behind it is of the streams already. */
static int read_head(const struct daemon *daemon, CURL *curl, int fd, struct strbuf *ret_first,
                     struct error *err)
{
        char head[HEAD_MAX + 1], *end = NULL;
        size_t length = 0;
        unsigned status = 0;

        while (!end) {
                size_t n = 0;
                CURLcode code = curl_easy_recv(curl, head + length, HEAD_MAX - length, &n);

                if (code == CURLE_AGAIN && wait_for(fd, POLLIN, daemon->timeout_ms))
                        continue;
                if (code == CURLE_AGAIN)
                        return broken(daemon, "no answer came", err);
                if (code != CURLE_OK || n == 0)
                        return broken(daemon, "the connection was closed", err);
                length += n;
                head[length] = '\0';
                end = strstr(head, "\r\n\r\n");
                if (!end && length == HEAD_MAX)
                        return broken(daemon, "the answer has no end", err);
        }
        if (sscanf(head, "HTTP/1.%*u %u", &status) != 1 || (status != 101 && status != 200))
                return explain(daemon, end + 4, err);
        strbuf_add(ret_first, end + 4, length - (size_t)(end + 4 - head));
        return ret_first->failed ? error_set_nomem(err) : 0;
}

int daemon_attach(struct daemon *daemon, const char *path, CURL **ret_curl, int *ret_fd,
                  struct strbuf *ret_first, struct error *err)
{
        CURL *curl = curl_easy_init();
        curl_socket_t fd = CURL_SOCKET_BAD;
        CURLcode code;
        int r;

        if (!curl)
                return error_set_nomem(err);
        daemon_dress(daemon, curl);
        (void)curl_easy_setopt(curl, CURLOPT_URL, daemon->base);
        (void)curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
        code = curl_easy_perform(curl);
        if (code == CURLE_OK)
                code = curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &fd);
        r = code == CURLE_OK ? 0 : broken(daemon, curl_easy_strerror(code), err);
        if (r == 0)
                r = send_request(daemon, curl, fd, path, err);
        if (r == 0)
                r = read_head(daemon, curl, fd, ret_first, err);
        if (r < 0) {
                curl_easy_cleanup(curl);
                return r;
        }
        *ret_curl = curl;
        *ret_fd = fd;
        return 0;
}
