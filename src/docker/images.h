/* `sandbox images` and `sandbox doctor --clean`: what is kept in an engine, made and removed. */
#ifndef DOCKER_IMAGES_H
#define DOCKER_IMAGES_H

#include <stdbool.h>

/* The words are those of program_execute(): our program, the command, options, words. The exit
 * code. */
int images_main(int count, char **words);
/* Whether there is something to build an image of this language from. */
bool images_know(const char *language);

#endif
