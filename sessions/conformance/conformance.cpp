#include "sessions/conformance/conformance.h"

#include <fmt/core.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "sessions/conformance/numeric_check.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// The number N in a pointer "/MEMBER/N...".
std::optional<std::size_t> index_behind(const std::string& pointer, std::string_view member) {
  if (!pointer.starts_with(member)) return std::nullopt;
  std::size_t index = 0;
  std::size_t digits = 0;
  for (std::size_t i = member.size(); i < pointer.size() && pointer[i] != '/'; ++i, ++digits) {
    if (pointer[i] < '0' || pointer[i] > '9' || digits > 8) return std::nullopt;
    index = index * 10 + static_cast<std::size_t>(pointer[i] - '0');
  }
  return digits > 0 ? std::optional(index) : std::nullopt;
}

// The input behind the answer at `pointer`: results and steps belong to the call or step of their
// index.
json what_led_to(const VectorKind& kind, const json& vector, const std::string& pointer) {
  json shown = {{"config", vector.at("config")}};
  if (kind.numeric_op != nullptr || kind.of_model) return shown;  // its arrays are not for reading
  const json& input = vector.at(std::string(kind.input_field));
  const auto result = index_behind(pointer, "/results/");
  const auto step = index_behind(pointer, "/steps/");
  if (kind.input_field == "calls" && result && *result < input.size())
    shown["call"] = input[*result];
  else if (step && input.contains("steps") && *step < input.at("steps").size())
    shown["step"] = input.at("steps")[*step];
  else if (kind.input_field == "input")
    shown["input"] = input;
  return shown;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

class FileChecker {
 public:
  FileChecker(const std::string& path, const ConformanceOptions& options)
      : path_(path), options_(options), kernels_(counted(options.kernels, num_launches_)) {
    report_.path = path;
    release_ = release_of_file(path);
  }

  FileReport run() {
    const auto start = std::chrono::steady_clock::now();
    auto lines = LineReader::open(path_, options_.stop);
    try {
      if (lines.ok())
        read(lines.value());
      else
        invalid(0, lines.error().message);
    } catch (const VectorKernelError& failed) {
      report_.kernel_error = failed.error();
    }
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  Result<json> parse(const NumberedLine& line) const {
    return parse_json({.text = line.text, .file = path_, .line = static_cast<int>(line.number)});
  }
  bool is_stopped() const { return options_.stop && options_.stop(); }
  void read(LineReader& lines) {
    if (!lines.peek(1).empty())
      recognise(lines);
    else if (lines.fault())
      report_.kind = recognise_by_name(path_);
    else if (!is_stopped())
      return invalid(0, fmt::format("{}: no vector (expected one JSON object a line)", path_));
    while (report_.kind != nullptr && !is_stopped()) {
      const auto line = lines.next();
      if (!line || is_stopped()) break;  // one that reading left half is none
      check_line(*line);
      if (options_.progress) options_.progress(report_.cases);
      // A small compressed file may unpack to any number of bad lines.
      if (kept_bytes_ > options_.max_error_bytes)
        return invalid(line->number, fmt::format("{}:{}: what is wrong with this file takes more "
                                                 "than {} bytes; nothing behind this line was read",
                                                 path_, line->number, options_.max_error_bytes));
    }
    if (const auto& fault = lines.fault())
      invalid(fault->line, fmt::format("{}:{}: {}", path_, fault->line, fault->error.message));
  }

  void recognise(LineReader& lines) {
    std::vector<json> cases;
    std::optional<InvalidCase> first_error;
    for (const NumberedLine& line : lines.peek(kCasesToRecognise)) {
      auto vector = parse(line);
      if (vector.ok())
        cases.push_back(std::move(vector).value());
      else if (!first_error)
        first_error = {.line = line.number, .message = vector.error().message};
    }
    report_.kind = recognise_by_name(path_);
    if (report_.kind != nullptr) {
      report_.fields_of = other_kind_by_fields(*report_.kind, cases);
      return;
    }
    if (cases.empty() && first_error)
      return invalid(
          first_error->line,
          first_error->message +
              "; none of the first lines is JSON, and the file's name names no kind of vector");
    const auto kind = recognise_by_fields(cases);
    if (kind.ok())
      report_.kind = kind.value();
    else
      invalid(0, fmt::format("{}: {}", path_, kind.error().message));
  }

  void check_line(const NumberedLine& line) {
    const auto vector = parse(line);
    if (!vector.ok()) return invalid(line.number, vector.error().message);
    try {
      check_case(line, vector.value());
    } catch (const JsonFault& error) {
      invalid(line.number, error.error(fmt::format("{}:{}", path_, line.number)).message);
    }
  }
  // A start has no id: "0.33.0 qwen3.8-27b, line 5".
  std::string id_of(const NumberedLine& line, const json& vector) const {
    const JsonValue top(vector);
    if (report_.kind->answers == nullptr) return top["id"].string();
    return fmt::format("{} {}, line {}", top["release"].string(), top["name"].string(),
                       line.number);
  }
  void check_case(const NumberedLine& line, const json& vector) {
    const std::string id = id_of(line, vector);
    if (id.find(options_.filter) == std::string::npos) return;
    if (options_.kernels.on_device && report_.kind->on_device.empty()) {
      ++report_.not_run;
      return;
    }
    num_launches_ = 0;
    const auto difference = check_vector(
        *report_.kind, vector, kernels_,
        {.release = release_, .folder = folder_of(path_), .policies = options_.policies});
    if (!difference && options_.kernels.on_device && num_launches_ == 0) {
      ++report_.not_run;
      return;
    }
    ++report_.cases;
    if (!difference) {
      ++report_.passed;
      return;
    }
    FailedCase differs;
    differs.id = id;
    differs.line = line.number;
    if (report_.failed.size() < kFailuresInFull) {
      differs.difference = *difference;
      differs.input = what_led_to(*report_.kind, vector, difference->pointer).dump();
    }
    failed(std::move(differs));
  }

  void invalid(std::int64_t line, std::string message) {
    kept_bytes_ += sizeof(InvalidCase) + message.size();
    report_.invalid.push_back({.line = line, .message = std::move(message)});
  }
  void failed(FailedCase failed) {
    const VectorDifference& difference = failed.difference;
    kept_bytes_ += sizeof(FailedCase) + failed.id.size() + failed.input.size() +
                   difference.expected.size() + difference.got.size();
    report_.failed.push_back(std::move(failed));
  }

  const std::string& path_;
  const ConformanceOptions& options_;
  std::int64_t num_launches_ = 0;  // of the case that is being checked
  VectorKernels kernels_;
  FileReport report_;
  std::optional<Release> release_;  // in the file's name
  std::size_t kept_bytes_ = 0;      // of failed and invalid cases
};

// A pipe or a socket is left out: opening it would block. A broken link stays in the list, so that
// the error names it.
bool is_vector_file(const std::filesystem::directory_entry& entry) {
  std::error_code code;
  const auto type = entry.status(code).type();
  std::filesystem::path name = entry.path().filename();
  if (name.extension() == ".zst") name = name.stem();
  return name.extension() == ".jsonl" && (type == std::filesystem::file_type::regular ||
                                          type == std::filesystem::file_type::not_found);
}

}  // namespace

Result<std::vector<std::string>> vector_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    if (fs::exists(path, code)) return std::vector<std::string>{path};
    return Error{ErrorKind::not_found, fmt::format("{}: no such file or folder", path)};
  }
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, code); !code && entry != fs::directory_iterator();
       entry.increment(code))
    if (is_vector_file(*entry)) files.push_back(entry->path().string());
  if (code) return Error{ErrorKind::io, fmt::format("{}: {}", path, code.message())};
  if (files.empty())
    return Error{ErrorKind::not_found,
                 fmt::format("{}: no file there ends in .jsonl or .jsonl.zst", path)};
  std::ranges::sort(files);
  return files;
}

FileReport check_vector_file(const std::string& path, const ConformanceOptions& options) {
  return FileChecker(path, options).run();
}

VectorParts split_vector(const VectorKind& kind, const json& vector) {
  VectorParts parts{.asked = vector, .answered = {}};
  if (kind.answers != nullptr) {
    parts.answered = kind.answers(vector);
    return parts;
  }
  if (kind.asking_call_fields.empty()) {
    const JsonValue output = JsonValue(vector)["output"];
    if (!kind.is_of_a_release()) static_cast<void>(output.members());
    parts.answered = output.json();
    parts.asked.erase("output");
    return parts;
  }
  parts.answered = {{"results", json::array()}};
  static_cast<void>(JsonValue(vector)["calls"].elements());
  for (const std::string& field : split_words(kind.answering_fields)) {
    parts.answered[field] = JsonValue(vector)[field].json();
    parts.asked.erase(field);
  }
  const std::vector<std::string> asking = split_words(kind.asking_call_fields);
  for (json& call : parts.asked["calls"]) {
    json& answer = parts.answered["results"].emplace_back(json::object());
    if (!call.is_object()) continue;  // for whoever reads it to report
    json questions = json::object();
    for (const auto& [name, value] : call.items())
      (std::ranges::find(asking, name) != asking.end() ? questions : answer)[name] = value;
    call = std::move(questions);
  }
  return parts;
}

std::optional<VectorDifference> check_vector(const VectorKind& kind, const json& vector,
                                             const VectorKernels& kernels, const VectorFile& file) {
  if (kind.is_of_a_release() && !file.release)
    JsonValue(vector).fail(fmt::format("expected a release in the file's name, as in {}_{}",
                                       kind.word_before_release, release_name(kNewestRelease)));
  try {
    if (kind.of_model) {
      static_cast<void>(open_vector(kind, vector, file.release));
      return check_model_vector(vector, file.folder);
    }
    if (kind.numeric_op != nullptr) {
      static_cast<void>(open_vector(kind, vector, file.release));
      return check_numeric({kind.numeric_op, kind.chunked_op}, vector, kernels.numeric);
    }
    const VectorParts parts = split_vector(kind, vector);
    VectorCase asked = open_vector(kind, parts.asked, file.release);
    asked.policies = file.policies;
    return first_difference(parts.answered, kind.recompute(asked, kernels));
  } catch (const JsonFault&) {
    throw;
  } catch (const VectorKernelError&) {
    throw;
  } catch (const std::exception& fault) {
    return VectorDifference{.pointer = "",
                            .expected = "an answer",
                            .got = fmt::format("internal error: {}", fault.what())};
  }
}

namespace {

Error too_long() {
  return {ErrorKind::corrupt,
          fmt::format("more than {} bytes, unpacked; nothing behind them was read",
                      kMaxVectorFileBytes)};
}

}  // namespace

Result<LineReader> LineReader::open(const std::string& path, std::function<bool()> stop) {
  auto read = open_input_file(path, std::move(stop));
  if (!read.ok()) return read.error();
  return LineReader(std::move(read).value());
}

std::optional<NumberedLine> LineReader::read() {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  while (!ended_) {
    std::string text;
    for (std::size_t end = std::string::npos; end == std::string::npos;) {
      end = chunk_.find('\n', used_);
      text.append(chunk_, used_, end == std::string::npos ? end : end - used_);
      used_ = end == std::string::npos ? chunk_.size() : end + 1;
      ended_ = text.size() > kMaxJsonBytes;
      if (end != std::string::npos || ended_) break;
      chunk_.resize(kChunkBytes);
      const Result<std::size_t> count = read_(std::span(chunk_));
      chunk_.resize(count.ok() ? count.value() : 0);
      used_ = 0;
      num_bytes_ += chunk_.size();
      if (!count.ok() || num_bytes_ > kMaxVectorFileBytes) {
        ended_ = true;
        fault_ = Fault{.line = number_ + 1, .error = count.ok() ? too_long() : count.error()};
        return std::nullopt;
      }
      if (!chunk_.empty()) continue;
      if (text.empty()) return std::nullopt;
      break;
    }
    ++number_;
    if (text.find_first_not_of(" \t\r") != std::string::npos)
      return NumberedLine{.number = number_, .text = std::move(text)};
  }

  return std::nullopt;
}

std::optional<NumberedLine> LineReader::next() {
  if (ahead_.empty()) return read();
  NumberedLine line = std::move(ahead_.front());
  ahead_.pop_front();
  bytes_ahead_ -= line.text.size();
  return line;
}

const std::deque<NumberedLine>& LineReader::peek(std::size_t count) {
  while (ahead_.size() < count && bytes_ahead_ <= kMaxJsonBytes) {
    std::optional<NumberedLine> line = read();
    if (!line) break;
    bytes_ahead_ += line->text.size();
    ahead_.push_back(*std::move(line));
  }
  return ahead_;
}

}  // namespace hybridscope
