/*
 * The static archives of jansson and libyaml that distributions ship were compiled for glibc with
 * _FORTIFY_SOURCE, and so call its checking variants. musl has the plain functions only; these few
 * hand over to them. The checks are kept: a call that would overflow its buffer ends the program.
 * Not needed, and not compiled, where the program is linked with glibc.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __snprintf_chk(char *buffer, size_t size, int flag, size_t room, const char *format, ...);
int __vsnprintf_chk(char *buffer, size_t size, int flag, size_t room, const char *format,
                    va_list args);
int __sprintf_chk(char *buffer, int flag, size_t room, const char *format, ...);
char *__strncpy_chk(char *to, const char *from, size_t length, size_t room);

static void check(size_t length, size_t room)
{
        if (length > room)
                abort();
}

int __vsnprintf_chk(char *buffer, size_t size, int flag, size_t room, const char *format,
                    va_list args)
{
        (void)flag;
        check(size, room);
        return vsnprintf(buffer, size, format, args);
}

int __snprintf_chk(char *buffer, size_t size, int flag, size_t room, const char *format, ...)
{
        va_list args;
        int n;

        va_start(args, format);
        n = __vsnprintf_chk(buffer, size, flag, room, format, args);
        va_end(args);
        return n;
}

int __sprintf_chk(char *buffer, int flag, size_t room, const char *format, ...)
{
        va_list args;
        int n;

        (void)flag;
        va_start(args, format);
        n = vsnprintf(buffer, room, format, args);
        va_end(args);
        check((size_t)n + 1, room);
        return n;
}

char *__strncpy_chk(char *to, const char *from, size_t length, size_t room)
{
        check(length, room);
        return strncpy(to, from, length);
}
