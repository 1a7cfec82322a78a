// hello, rewritten by hand as a FastCGI responder on libfcgi: the limit that a rewrite reaches.
#include <fcgiapp.h>

int main(void) {
  FCGX_Request request;
  if (FCGX_Init() != 0 || FCGX_InitRequest(&request, 0, 0) != 0) return 1;
  while (FCGX_Accept_r(&request) == 0)
    FCGX_PutS("Content-Type: text/plain\r\n\r\nHello, world!\n", request.out);
  return 0;
}
