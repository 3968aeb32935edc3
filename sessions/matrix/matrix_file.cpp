#include "sessions/matrix/matrix_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "sessions/json_reader.h"
#include "sessions/matrix/matrix_json.h"
#include "sessions/object_reader.h"
#include "sessions/output_file.h"

namespace hybridscope {
namespace {

constexpr std::string_view kFile = "matrix.jsonl";

std::string file_in(const std::string& folder) {
  return (std::filesystem::path(folder) / kFile).string();
}

// One line's part of the contents. Error corrupt: what is wrong with it.
Status take_line(std::string_view text, const std::string& file, int line,
                 MatrixContents& contents) {
  const auto json = parse_json({.text = text, .file = file, .line = line});
  if (!json.ok()) return json.error();
  JsonErrors errors(fmt::format("{}:{}", file, line));
  const JsonPlace place{.value = &json.value(), .pointer = ""};
  if (line == 1) {
    contents.header = header_of_json(place, errors);
  } else if (json.value().is_object() && json.value().contains("fault")) {
    MatrixFault fault = fault_of_json(place, errors);
    contents.faults[fault_key(fault)] = std::move(fault);
  } else {
    CellResult cell = cell_of_json(place, errors);
    contents.cells[cell_name(cell.cell)] = std::move(cell);
  }
  if (errors.failed()) return Error{ErrorKind::corrupt, errors.error().message};
  return Ok{};
}

struct WholeLines {
  MatrixContents contents;
  std::size_t num_bytes = 0;
  std::string unfinished;  // behind them
};

Result<WholeLines> read_lines(const std::string& folder) {
  const std::string file = file_in(folder);
  if (std::error_code code; !std::filesystem::exists(file, code))
    return Error{ErrorKind::not_found,
                 fmt::format("{} has no matrix: there is no {}", folder, file)};
  const auto text = read_text_file(file);
  if (!text.ok()) return text.error();
  if (text.value().size() > kMaxJsonBytes)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: more than {} bytes, which no matrix has", file, kMaxJsonBytes)};
  WholeLines lines;
  std::string_view rest = text.value();
  for (int line = 1;; ++line) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    if (Status taken = take_line(rest.substr(0, end), file, line, lines.contents); !taken.ok())
      return taken.error();
    rest.remove_prefix(end + 1);
  }
  lines.num_bytes = text.value().size() - rest.size();
  lines.unfinished = rest;
  return lines;
}

Error no_header(const std::string& folder) {
  return Error{ErrorKind::corrupt,
               fmt::format("{}: no line (expected the header)", file_in(folder))};
}

Error cannot(std::string_view what, const std::string& path, const std::string& why) {
  return Error{ErrorKind::not_available, fmt::format("{} {}: {}", path, what, why)};
}

struct Difference {
  std::string_view what;
  std::string a;
  std::string b;
};

// What two headers do not have in common, but for the filter and the shard.
std::optional<Difference> header_difference(const MatrixHeader& a, const MatrixHeader& b) {
  const Difference all[] = {
      {"engine", a.engine, b.engine},
      {"policies", a.policies, b.policies},
      {"seed", std::to_string(a.seed), std::to_string(b.seed)},
      {"scenarios a cell", std::to_string(a.scenarios_per_cell),
       std::to_string(b.scenarios_per_cell)},
      {"state in bytes", a.in_bytes ? "yes" : "no", b.in_bytes ? "yes" : "no"},
      {"version of hybridscope", a.program, b.program},
  };
  for (const Difference& one : all)
    if (one.a != one.b) return one;
  return std::nullopt;
}

std::string shown(const std::string& text) { return text.empty() ? "none" : text; }

}  // namespace

std::string fault_key(const MatrixFault& fault) {
  if (!fault.bugs.empty()) return fault.bugs;
  return fmt::format("{} {}", rule_info(fault.kind.rule).slug, fault.kind.detail);
}

Result<MatrixContents> read_matrix(const std::string& folder) {
  auto lines = read_lines(folder);
  if (!lines.ok()) return lines.error();
  if (lines.value().num_bytes == 0) return no_header(folder);
  return std::move(lines).value().contents;
}

MatrixFile::MatrixFile(std::string folder, MatrixContents contents)
    : folder_(std::move(folder)), contents_(std::move(contents)) {}

Result<MatrixFile> MatrixFile::open(const std::string& folder, const MatrixHeader& header) {
  const std::string path = file_in(folder);
  std::error_code code;
  std::filesystem::create_directories(std::filesystem::path(folder) / "faults", code);
  if (code) return cannot("cannot be made", folder, code.message());
  const std::string first = header_to_json(header).dump();
  const auto begin = [&]() -> Result<MatrixFile> {
    MatrixContents fresh;
    fresh.header = header;
    MatrixFile file(folder, std::move(fresh));
    if (Status begun = file.append(first); !begun.ok()) return begun.error();
    return file;
  };
  if (!std::filesystem::exists(path, code)) return begin();
  auto lines = read_lines(folder);
  if (!lines.ok()) return lines.error();
  if (lines.value().num_bytes == 0) {  // ended while the header was written
    if (!first.starts_with(lines.value().unfinished)) return no_header(folder);
    std::filesystem::resize_file(path, 0, code);
    if (code) return cannot("cannot be written", path, code.message());
    return begin();
  }
  const MatrixHeader& there = lines.value().contents.header;
  auto difference = header_difference(there, header);
  if (!difference && there.filter != header.filter)
    difference = Difference{"cells (--only)", there.filter, header.filter};
  if (!difference && there.shard != header.shard)
    difference = Difference{"shard", there.shard, header.shard};
  if (difference)
    return invalid_input(
        fmt::format("{} has a matrix of another {}: {}, not {} (give another "
                    "--out)",
                    folder, difference->what, shown(difference->a), shown(difference->b)));
  std::filesystem::resize_file(path, lines.value().num_bytes, code);
  if (code) return cannot("cannot be written", path, code.message());
  return MatrixFile(folder, std::move(lines).value().contents);
}

Status MatrixFile::append(const std::string& line) const {
  const std::string path = file_in(folder_);
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "ab"), close);
  const std::string text = line + "\n";
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0)
    return cannot("cannot be written", path, std::generic_category().message(errno));
  return Ok{};
}

Status MatrixFile::add(const CellResult& cell) {
  if (Status added = append(cell_to_json(cell).dump()); !added.ok()) return added;
  contents_.cells[cell_name(cell.cell)] = cell;
  return Ok{};
}

Status MatrixFile::add(const MatrixFault& fault, const std::string& scenario) {
  const std::string path = (std::filesystem::path(folder_) / fault.file).string();
  if (Status written = write_output_file(path, scenario); !written.ok()) return written;
  if (Status added = append(fault_to_json(fault).dump()); !added.ok()) return added;
  contents_.faults[fault_key(fault)] = fault;
  return Ok{};
}

Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources) {
  MatrixContents merged;
  for (const MatrixSource& source : sources) {
    if (&source == &sources.front()) {
      merged.header = source.contents.header;
      merged.header.shard = "1/1";
    }
    if (const auto difference = header_difference(merged.header, source.contents.header))
      return invalid_input(fmt::format("{} and {} do not belong together: {} is {} and {}",
                                       sources.front().folder, source.folder, difference->what,
                                       shown(difference->a), shown(difference->b)));
    if (merged.header.filter != source.contents.header.filter) merged.header.filter.clear();
    for (const auto& [name, cell] : source.contents.cells)
      if (!(merged.cells.try_emplace(name, cell).first->second == cell))
        return invalid_input(
            fmt::format("{}: cell {} has another result than in the folders "
                        "before it",
                        source.folder, name));
    for (const auto& [key, fault] : source.contents.faults) {
      const auto [known, fresh] = merged.faults.try_emplace(key, fault);
      if (!fresh && std::pair(fault.num_requests, fault.num_steps) <
                        std::pair(known->second.num_requests, known->second.num_steps))
        known->second = fault;
    }
  }
  return merged;
}

}  // namespace hybridscope
