/* Writes down what was done to files, in the order in which it was done, so that a power cut can be made of it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "shim.h"

static FILE *record;
static long recorded;
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;

/* Write into this file from now on, which lies outside the folder that is looked at. */
int faults_record(const char *path) {
    record = fopen(path, "wb");
    recorded = 0;
    return record ? 0 : -1;
}

long faults_recorded(void) { return recorded; }

/* Have all of it in the file. */
void faults_recorded_to_end(void) {
    pthread_mutex_lock(&alone);
    if (record) fflush(record);
    pthread_mutex_unlock(&alone);
}

void recording_write(char kind, const char *path, const char *other, long at, const void *data, size_t size) {
    if (!record) return;
    uint32_t lengths[2] = {strlen(path), other ? strlen(other) : 0};
    int64_t numbers[2] = {at, (int64_t)size};
    pthread_mutex_lock(&alone);
    fwrite(&kind, 1, 1, record);
    fwrite(lengths, sizeof lengths, 1, record);
    fwrite(numbers, sizeof numbers, 1, record);
    fwrite(path, 1, lengths[0], record);
    if (other) fwrite(other, 1, lengths[1], record);
    if (size) fwrite(data, 1, size, record);
    recorded++;
    pthread_mutex_unlock(&alone);
}
