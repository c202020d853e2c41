/* The service of the upload benchmark: reads HTTP requests on 127.0.0.1, discards their bodies and answers each with a
 * finished run. Prints its port. Build: cc -O2 -o sink sink.c */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char buffer[1 << 20];

static void serve(int fd) {
  size_t used = 0;
  char *end = NULL;
  while (end == NULL && used < sizeof buffer - 1) {
    ssize_t n = read(fd, buffer + used, sizeof buffer - 1 - used);
    if (n <= 0) return;
    used += (size_t)n;
    buffer[used] = 0;
    end = memmem(buffer, used, "\r\n\r\n", 4);
  }
  if (end == NULL) return;
  char *length = strcasestr(buffer, "content-length:");
  int chunked = length == NULL || length > end;
  long long left = chunked ? 0 : atoll(length + 15) - (long long)(used - (size_t)(end + 4 - buffer));
  char tail[5] = {0};
  while (chunked ? memcmp(tail, "0\r\n\r\n", 5) != 0 : left > 0) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return;
    left -= n;
    if (n >= 5) memcpy(tail, buffer + n - 5, 5);
  }
  const char *response =
      "HTTP/1.1 200 OK\r\ncontent-length: 44\r\nconnection: close\r\n\r\n"
      "{\"id\":\"r\",\"status\":\"FINISHED\",\"output\":null}";
  if (write(fd, response, strlen(response)) < 0) return;
}

int main(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 16)) return 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) return 1;
    serve(fd);
    close(fd);
  }
}
