#include "sessions/text/input_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "sessions/text/json_reader.h"
#include "sessions/text/zstd_input.h"

namespace hybridscope {
namespace {

// One read(2): answers with what a pipe has now instead of waiting for a full buffer.
ReadBytes read_from(int descriptor, std::shared_ptr<std::FILE> owner) {
  return [descriptor, owner = std::move(owner)](std::span<char> bytes) -> Result<std::size_t> {
    ssize_t count = -1;
    do count = ::read(descriptor, bytes.data(), bytes.size());
    while (count < 0 && errno == EINTR);
    if (count < 0)
      return Error{ErrorKind::io, fmt::format("cannot be read: {}", std::strerror(errno))};
    return static_cast<std::size_t>(count);
  };
}

}  // namespace

Result<ReadBytes> open_input_file(const std::string& path) {
  if (Status no_directory = check_no_directory(path); !no_directory.ok())
    return no_directory.error();
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rb"),
                                        [](std::FILE* f) { return f ? std::fclose(f) : 0; });
  if (!file)
    return Error{ErrorKind::io,
                 fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
  return unpack_zstd(read_from(::fileno(file.get()), file));
}

ReadBytes read_standard_input() { return unpack_zstd(read_from(STDIN_FILENO, nullptr)); }

}  // namespace hybridscope
