#include "sessions/text/line_file.h"

#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sessions/text/file_identity.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

Error cannot(std::string_view what, const std::string& path, const std::string& why) {
  return Error{ErrorKind::not_available, fmt::format("{} {}: {}", path, what, why)};
}

}  // namespace

std::vector<std::string_view> WholeLines::lines() const {
  std::vector<std::string_view> lines;
  for (std::string_view rest = std::string_view(text).substr(0, num_bytes); !rest.empty();) {
    const std::size_t end = rest.find('\n');
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return lines;
}

Result<WholeLines> read_whole_lines(const std::string& file) {
  auto text = read_text_file(file);
  if (!text.ok()) return text.error();
  if (text.value().size() > kMaxJsonBytes)
    return Error{ErrorKind::corrupt, fmt::format("{}: more than {} bytes", file, kMaxJsonBytes)};
  const std::size_t last = text.value().rfind('\n');
  const std::size_t num_bytes = last == std::string::npos ? 0 : last + 1;
  return WholeLines{.text = std::move(text).value(), .num_bytes = num_bytes};
}

LineFile::LineFile(std::string file, Stream stream)
    : file_(std::move(file)), stream_(std::move(stream)) {
  std::error_code code;
  num_bytes_ = std::filesystem::file_size(file_, code);
}

Result<LineFile> LineFile::open(const std::string& file) {
  Stream stream(std::fopen(file.c_str(), "ab"));
  if (!stream) return cannot("cannot be written", file, std::generic_category().message(errno));
  if (::flock(::fileno(stream.get()), LOCK_EX | LOCK_NB) == 0)
    return LineFile(file, std::move(stream));
  const int reason = errno;
  if (reason == EWOULDBLOCK) return cannot("cannot be written", file, "another hybridscope does");
  return cannot("cannot be locked", file, std::generic_category().message(reason));
}

Status LineFile::cut(std::size_t num_bytes) {
  if (::ftruncate(::fileno(stream_.get()), static_cast<off_t>(num_bytes)) != 0)
    return cannot("cannot be written", file_, std::generic_category().message(errno));
  num_bytes_ = num_bytes;
  return Ok{};
}

Status LineFile::append(std::string_view line) {
  if (failure_) return *failure_;
  const int descriptor = ::fileno(stream_.get());
  was_replaced_ = !names_open_file(file_, descriptor);
  if (was_replaced_) {
    failure_ = cannot("was removed or replaced", file_, "what is added now would be lost");
    return *failure_;
  }
  const std::string text = std::string(line) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), stream_.get()) == text.size() &&
      std::fflush(stream_.get()) == 0) {
    num_bytes_ += text.size();
    return Ok{};
  }
  failure_ = cannot("cannot be written", file_, std::generic_category().message(errno));
  const int kept = ::dup(descriptor);
  stream_.reset();  // its buffer may hold the rest of the line
  if (kept >= 0) {
    // Failing leaves the beginning of a line, which reading takes for what a crash left.
    (void)!::ftruncate(kept, static_cast<off_t>(num_bytes_));
    ::close(kept);
  }
  return *failure_;
}

}  // namespace hybridscope
