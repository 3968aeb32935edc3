#include "sessions/text/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "sessions/text/stop_request.h"

namespace hybridscope::test::write_bytes_test {
namespace {

// The program is asked to stop while one of these lives.
struct AskedToStop {
  AskedToStop() {
    stop_waiting_when([] { return true; });
  }
  ~AskedToStop() { stop_waiting_when(nullptr); }
};

struct Pipe {
  Pipe() { opened = pipe(ends.data()) == 0; }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  bool opened = false;
  std::array<int, 2> ends{};
};

TEST(WriteBytes, GivesUpOnAReaderThatTakesNothingWhenAskedToStop) {
  const Pipe pipe;
  ASSERT_TRUE(pipe.opened);
  const AskedToStop asked;
  EXPECT_EQ(write_bytes(pipe.ends[1], std::string(200'000, 'x')), EINTR);
}

TEST(WriteBytes, GivesAReaderEverythingThoughAskedToStop) {
  const Pipe pipe;
  ASSERT_TRUE(pipe.opened);
  const AskedToStop asked;
  std::size_t taken = 0;
  std::thread reader([&] {
    std::array<char, 1000> bytes{};
    while (taken < 200'000)
      taken += static_cast<std::size_t>(read(pipe.ends[0], bytes.data(), bytes.size()));
  });
  EXPECT_EQ(write_bytes(pipe.ends[1], std::string(200'000, 'x')), 0);
  reader.join();
  EXPECT_EQ(taken, 200'000U);
}

TEST(WriteBytes, NameTheSystemsReason) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(write_bytes(full, "x"), ENOSPC);
  close(full);
  EXPECT_EQ(write_error_words(ENOSPC), "No space left on device");
  EXPECT_EQ(write_error_words(EINTR), "interrupted");
}

}  // namespace
}  // namespace hybridscope::test::write_bytes_test
