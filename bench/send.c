/* Sends a finished body of N bytes to 127.0.0.1 from memory: the limit that the machine sets for an upload.
 * Usage: send PORT BYTES. Build: cc -O2 -o send send.c */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  long long left = atoll(argv[2]);
  size_t size = 1 << 20;
  char *block = malloc(size);
  memset(block, 'A', size);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(fd, (struct sockaddr *)&address, sizeof address)) return 1;
  char head[200];
  int length = snprintf(head, sizeof head, "POST /runs HTTP/1.1\r\nhost: x\r\ncontent-length: %lld\r\n\r\n", left);
  if (write(fd, head, (size_t)length) != length) return 1;
  while (left > 0) {
    ssize_t n = write(fd, block, left < (long long)size ? (size_t)left : size);
    if (n <= 0) return 1;
    left -= n;
  }
  return read(fd, head, sizeof head) > 0 ? 0 : 1;
}
