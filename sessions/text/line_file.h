// A file of lines that only grows: a line is in the file when append() returns, a line that does
// not fit is taken back, and one program at a time may write.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct WholeLines {
  std::string text;                             // of the whole file
  std::size_t num_bytes = 0;                    // of its lines that end with a newline
  std::vector<std::string_view> lines() const;  // without newlines; views of `text`
  // What lies behind the last newline, as a crash may leave it.
  std::string_view unfinished() const { return std::string_view(text).substr(num_bytes); }
};

// Error corrupt: the file is larger than kMaxJsonBytes. Other errors: those of read_text_file.
Result<WholeLines> read_whole_lines(const std::string& file);

class LineFile {
 public:
  // Creates the file if there is none, and locks it while this object lives. Error not_available:
  // it cannot be written, or another hybridscope writes it.
  static Result<LineFile> open(const std::string& file);

  const std::string& file() const { return file_; }

  // Cuts the file after so many bytes. Error not_available.
  Status cut(std::size_t num_bytes);

  // `line` without a newline. Error not_available: it does not fit, or the file was removed or
  // replaced; the file is as before, and every later call fails with the same error.
  Status append(std::string_view line);
  const std::optional<Error>& failure() const { return failure_; }
  // Is what has this name now, if anything, another's file?
  bool was_replaced() const { return was_replaced_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using Stream = std::unique_ptr<std::FILE, Close>;
  LineFile(std::string file, Stream stream);

  std::string file_;
  Stream stream_;  // null after a failure
  std::uintmax_t num_bytes_ = 0;
  std::optional<Error> failure_;
  bool was_replaced_ = false;
};

}  // namespace hybridscope
