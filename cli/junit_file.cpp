#include "cli/junit_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace hybridscope {
namespace {

std::string xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return escaped;
}

std::string failure(std::string_view type, const std::vector<std::string>& texts) {
  std::string body =
      fmt::format(">\n      <failure type=\"{}\" message=\"{}\">", xml(type), xml(texts.front()));
  for (const std::string& text : texts) body += xml(text) + "\n";
  return body + "</failure>\n    </testcase>\n";
}

std::string junit_text(std::string_view suite, const std::vector<JunitCase>& cases) {
  std::string text;
  std::size_t failures = 0;
  for (const JunitCase& test : cases) {
    failures += test.failures.empty() ? 0 : 1;
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(suite), xml(test.name)) +
            (test.failures.empty() ? "/>\n" : failure(test.type, test.failures));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" "
      "tests=\"{}\" failures=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml(suite), cases.size(), failures, text);
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) return Error{ErrorKind::io, fmt::format("cannot write {}", path)};
  return Ok{};
}

}  // namespace

Status write_junit_file(const std::string& path, std::string_view suite,
                        const std::vector<JunitCase>& cases) {
  const std::string text = junit_text(suite, cases);
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::directory)
    return Error{ErrorKind::io, fmt::format("cannot write {}: it is a directory", path)};
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    return write_text(path, text);
  const std::string temporary = path + ".part";
  if (Status written = write_text(temporary, text); !written.ok()) return written;
  std::filesystem::rename(temporary, path, error);
  if (!error) return Ok{};
  std::remove(temporary.c_str());
  return Error{ErrorKind::io,
               fmt::format("cannot rename {} to {}: {}", temporary, path, error.message())};
}

}  // namespace hybridscope
