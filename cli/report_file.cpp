#include "cli/report_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace hybridscope {
namespace {

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) return Error{ErrorKind::io, fmt::format("cannot write {}", path)};
  return Ok{};
}

}  // namespace

Status write_report_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return Ok{};
  }
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::directory)
    return Error{ErrorKind::io, fmt::format("cannot write {}: it is a directory", path)};
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    return write_text(path, text);
  // Two jobs that write one report do not write into each other's.
  const std::string temporary = fmt::format("{}.{}.part", path, getpid());
  if (Status written = write_text(temporary, text); !written.ok()) {
    std::remove(temporary.c_str());
    return Error{ErrorKind::io, fmt::format("cannot write {}", path)};
  }
  std::filesystem::rename(temporary, path, error);
  if (!error) return Ok{};
  std::remove(temporary.c_str());
  return Error{ErrorKind::io,
               fmt::format("cannot rename {} to {}: {}", temporary, path, error.message())};
}

}  // namespace hybridscope
