#include "sessions/text/output_file.h"

#include <fmt/core.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "sessions/text/write_bytes.h"

namespace hybridscope {
namespace {

constexpr int kCompressionLevel = 6;
constexpr std::size_t kBufferBytes = 1 << 16;

// The error names the file that the user gave, not the temporary one.
Error cannot_write(const std::string& path, std::string_view why) {
  return {ErrorKind::not_available, fmt::format("cannot write {}: {}", path, why)};
}

}  // namespace

struct OutputFile::Packer {
  struct Free {
    void operator()(ZSTD_CStream* freed) const { ZSTD_freeCStream(freed); }
  };
  std::unique_ptr<ZSTD_CStream, Free> stream{ZSTD_createCStream()};
  std::vector<char> packed = std::vector<char>(ZSTD_CStreamOutSize());

  Packer() {
    ZSTD_CCtx_setParameter(stream.get(), ZSTD_c_compressionLevel, kCompressionLevel);
    ZSTD_CCtx_setParameter(stream.get(), ZSTD_c_checksumFlag, 1);
  }

  // Compresses `text` and passes the result to `put`.
  template <class Put>
  Status pack(std::string_view text, ZSTD_EndDirective end, Put put) {
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      const std::size_t left = ZSTD_compressStream2(stream.get(), &out, &in, end);
      if (ZSTD_isError(left) != 0)
        return Error{ErrorKind::io, fmt::format("zstd: {}", ZSTD_getErrorName(left))};
      if (Status written = put(std::string_view(packed.data(), out.pos)); !written.ok())
        return written;
      const bool done = end == ZSTD_e_end ? left == 0 : in.pos == in.size;
      if (done) return Ok{};
    }
  }
};

OutputFile::OutputFile(std::string path, std::string written, int descriptor)
    : path_(std::move(path)),
      written_(std::move(written)),
      descriptor_(descriptor),
      is_stdout_(descriptor < 0) {
  if (path_.ends_with(".zst")) packer_ = std::make_unique<Packer>();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      written_(std::exchange(other.written_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_stdout_(other.is_stdout_),
      buffer_(std::move(other.buffer_)),
      packer_(std::move(other.packer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!written_.empty()) std::remove(written_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path == "-") return OutputFile("<stdout>", "", -1);
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::directory) return cannot_write(path, "it is a directory");
  const bool beside =
      kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  // The process id keeps two programs from writing to the same temporary file.
  const std::string written = beside ? fmt::format("{}.{}.part", path, getpid()) : path;
  const int descriptor = open_to_write(written);
  if (descriptor < 0) return cannot_write(path, write_error_words(errno));
  return OutputFile(path, beside ? written : std::string(), descriptor);
}

Status OutputFile::put(std::string_view bytes) {
  if (is_stdout_) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return Ok{};
    return cannot_write(path_, write_error_words(errno));
  }
  buffer_ += bytes;
  return buffer_.size() < kBufferBytes ? Ok{} : flush();
}

Status OutputFile::flush() {
  const int error =
      is_stdout_ ? (std::fflush(stdout) == 0 ? 0 : errno) : write_bytes(descriptor_, buffer_);
  buffer_.clear();
  return error == 0 ? Status(Ok{}) : cannot_write(path_, write_error_words(error));
}

Status OutputFile::write(std::string_view text) {
  if (!packer_) return put(text);
  return packer_->pack(text, ZSTD_e_continue,
                       [this](std::string_view bytes) { return put(bytes); });
}

Status OutputFile::finish() {
  if (packer_) {
    const auto to_file = [this](std::string_view bytes) { return put(bytes); };
    if (Status ended = packer_->pack("", ZSTD_e_end, to_file); !ended.ok()) return ended;
  }
  if (Status flushed = flush(); !flushed.ok()) return flushed;
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0)
    return cannot_write(path_, write_error_words(errno));
  if (written_.empty()) return Ok{};
  std::error_code error;
  std::filesystem::rename(written_, path_, error);
  if (error) return cannot_write(path_, error.message());
  written_.clear();
  return Ok{};
}

Status write_output_file(const std::string& path, std::string_view text) {
  auto file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  if (Status written = file.value().write(text); !written.ok()) return written;
  return file.value().finish();
}

}  // namespace hybridscope
