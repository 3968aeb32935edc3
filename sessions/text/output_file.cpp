#include "sessions/text/output_file.h"

#include <fmt/core.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace hybridscope {
namespace {

constexpr int kCompressionLevel = 6;

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

OutputFile::OutputFile(std::string path, std::string written, std::FILE* file)
    : path_(std::move(path)), written_(std::move(written)), file_(file) {
  if (path_.ends_with(".zst")) packer_ = std::make_unique<Packer>();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      written_(std::exchange(other.written_, {})),
      file_(std::exchange(other.file_, nullptr)),
      packer_(std::move(other.packer_)) {}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!written_.empty()) std::remove(written_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path == "-") return OutputFile("<stdout>", "", stdout);
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::directory) return cannot_write(path, "it is a directory");
  const bool beside =
      kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  // The process id keeps two programs from writing to the same temporary file.
  const std::string written = beside ? fmt::format("{}.{}.part", path, getpid()) : path;
  std::FILE* file = std::fopen(written.c_str(), "wb");
  if (file == nullptr) return cannot_write(path, std::strerror(errno));
  return OutputFile(path, beside ? written : std::string(), file);
}

Error OutputFile::failed() const { return cannot_write(path_, std::strerror(errno)); }

Status OutputFile::put(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return failed();
  return Ok{};
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
  if (std::fflush(file_) != 0) return failed();
  if (file_ != stdout && std::fclose(std::exchange(file_, nullptr)) != 0) return failed();
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
