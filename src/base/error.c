#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
        va_list args;

        if (!err)
                return code;

        err->code = code;
        err->sys_errno = 0;
        err->hint[0] = '\0';
        va_start(args, format);
        (void)vsnprintf(err->message, sizeof(err->message), format, args); /* cut is fine */
        va_end(args);
        return code;
}

int error_set_errno(struct error *err, const char *format, ...)
{
        int saved = errno;
        size_t used;
        va_list args;

        if (!err)
                return SBX_ESYSTEM;

        err->code = SBX_ESYSTEM;
        err->sys_errno = saved;
        err->hint[0] = '\0';
        va_start(args, format);
        (void)vsnprintf(err->message, sizeof(err->message), format, args); /* cut is fine */
        va_end(args);
        used = strlen(err->message);
        (void)snprintf(err->message + used, sizeof(err->message) - used, ": %s", strerror(saved));
        if (saved == EMFILE)
                error_hint(err, "allow more open files: ulimit -n 256");
        errno = saved;
        return SBX_ESYSTEM;
}

void error_hint(struct error *err, const char *format, ...)
{
        va_list args;

        if (!err)
                return;

        va_start(args, format);
        (void)vsnprintf(err->hint, sizeof(err->hint), format, args); /* cut is fine */
        va_end(args);
}

void error_prefix(struct error *err, const char *format, ...)
{
        char old[ERROR_MESSAGE_MAX];
        size_t used;
        va_list args;

        if (!err)
                return;

        memcpy(old, err->message, sizeof(old));
        va_start(args, format);
        (void)vsnprintf(err->message, sizeof(err->message), format, args); /* cut is fine */
        va_end(args);
        used = strlen(err->message);
        (void)snprintf(err->message + used, sizeof(err->message) - used, ": %s", old);
}

int error_set_nomem(struct error *err)
{
        return error_set(err, SBX_ENOMEM, "out of memory");
}
