/* The head of a request to the proxy: whatever a guest says must be refused, waited for, or end up
 * as a head that again is one. */
#include "proxy/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
        if (!condition)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static char out[2 * REQUEST_HEAD_MAX];
        struct proxy_request request;
        size_t length;

        if (request_parse((const char *)data, size, &request) != REQUEST_WHOLE)
                return 0;
        require(request.head_length <= size && request.head_length <= REQUEST_HEAD_MAX);
        require(request.port > 0 && strlen(request.host) < REQUEST_HOST_MAX && request.host[0]);
        require(request.host[strspn(request.host, "abcdefghijklmnopqrstuvwxyz0123456789.:-_")] ==
                '\0');
        if (request.is_tunnel)
                return 0;
        length = request_rewrite((const char *)data, &request, out, sizeof(out));
        require(length == 0 || (length > 4 && memcmp(out + length - 4, "\r\n\r\n", 4) == 0));
        for (size_t i = 0; i + 4 < length; i++)
                require(memcmp(out + i, "\r\n\r\n", 4) != 0);
        return 0;
}
