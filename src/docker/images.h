/* `sandbox images` and `sandbox doctor --clean`: what is kept in an engine, made and removed. */
#ifndef DOCKER_IMAGES_H
#define DOCKER_IMAGES_H

/* The words are those of program_execute(): our program, the command, options, words. The exit
 * code. */
int images_main(int count, char **words);

#endif
