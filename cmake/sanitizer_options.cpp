// Part of each program built with HYBRIDSCOPE_SANITIZE.

// clang 14's runtime takes a thread's block of TLS that begins 16 bytes into a page for one with a
// header of glibc 2.19, and its leak check at exit then reads whatever address the 16 bytes before
// hold ("Tracer caught signal 11"). The GL driver's blocks are small enough to land there, about
// one start in two hundred. Without the interceptor the check finds these blocks as any other
// memory.
//
// Of the stack at each allocation ten frames are kept, not thirty: that takes a twentieth off the
// tests, and off the start of each program a tenth.
extern "C" const char* __asan_default_options() {
  return "intercept_tls_get_addr=0:malloc_context_size=10";
}
