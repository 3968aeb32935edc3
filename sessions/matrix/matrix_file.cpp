#include "sessions/matrix/matrix_file.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "sessions/text/json_reader.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

namespace {

std::string shown(const std::string& text) { return text.empty() ? "none" : text; }

std::optional<HeaderDifference> first_difference(std::span<const HeaderDifference> all) {
  for (const HeaderDifference& one : all)
    if (one.a != one.b) return HeaderDifference{one.what, shown(one.a), shown(one.b)};
  return std::nullopt;
}

// Adds one line to the contents. Error corrupt: what is wrong with the line.
Status take_line(std::string_view text, const std::string& file, int line,
                 MatrixContents& contents) {
  const auto json = parse_json({.text = text, .file = file, .line = line});
  if (!json.ok()) return json.error();
  const JsonValue value(json.value());
  const auto take = [&] {
    if (line == 1) {
      contents.header = header_of_json(value);
    } else if (value.find("fault")) {
      MatrixFault fault = fault_of_json(value);
      contents.faults[fault_key(fault)] = std::move(fault);
    } else {
      CellResult cell = cell_of_json(value);
      contents.cells[cell_name(cell.cell)] = std::move(cell);
    }
  };
  return read_json(fmt::format("{}:{}", file, line), take, ErrorKind::corrupt);
}

struct MatrixLines {
  MatrixContents contents;
  std::size_t num_bytes = 0;
  std::string unfinished;  // text after the last complete line
};

Result<MatrixLines> read_lines(const std::string& folder) {
  const std::string file = matrix_file(folder);
  if (std::error_code code; !std::filesystem::exists(file, code))
    return Error{ErrorKind::not_found,
                 fmt::format("{} has no matrix: there is no {}", folder, file)};
  const auto whole = read_whole_lines(file);
  if (!whole.ok()) return whole.error();
  MatrixLines lines{.contents = {},
                    .num_bytes = whole.value().num_bytes,
                    .unfinished = std::string(whole.value().unfinished())};
  int number = 0;
  for (const std::string_view line : whole.value().lines())
    if (Status taken = take_line(line, file, ++number, lines.contents); !taken.ok())
      return taken.error();
  return lines;
}

// header_difference(), but the selection of cells must be equal too.
std::optional<HeaderDifference> whole_header_difference(const MatrixHeader& a,
                                                        const MatrixHeader& b) {
  if (const auto difference = header_difference(a, b)) return difference;
  const HeaderDifference cells[] = {{"cells (--only)", a.filter, b.filter},
                                    {"shard", a.shard, b.shard}};
  return first_difference(cells);
}

Error no_header(const std::string& folder) {
  return Error{ErrorKind::corrupt,
               fmt::format("{}: no line (expected the header)", matrix_file(folder))};
}

}  // namespace

std::optional<HeaderDifference> header_difference(const MatrixHeader& a, const MatrixHeader& b) {
  const HeaderDifference all[] = {
      {"engine", a.engine, b.engine},
      {"policies", a.policies, b.policies},
      {"seed", std::to_string(a.seed), std::to_string(b.seed)},
      {"scenarios a cell", std::to_string(a.scenarios_per_cell),
       std::to_string(b.scenarios_per_cell)},
      {"state in bytes", a.in_bytes ? "yes" : "no", b.in_bytes ? "yes" : "no"},
      {"build of hybridscope", a.program, b.program},
  };
  return first_difference(all);
}

std::string matrix_file(const std::string& folder) {
  return (std::filesystem::path(folder) / "matrix.jsonl").string();
}

std::string fault_key(const MatrixFault& fault) {
  if (!fault.cause.empty()) return fault.cause;
  return fmt::format("{} {}", rule_info(fault.kind.rule).slug, fault.kind.detail);
}

Result<MatrixContents> read_matrix(const std::string& folder) {
  auto lines = read_lines(folder);
  if (!lines.ok()) return lines.error();
  if (lines.value().num_bytes == 0) return no_header(folder);
  return std::move(lines).value().contents;
}

MatrixFile::MatrixFile(std::string folder, MatrixContents contents, LineFile file)
    : folder_(std::move(folder)), contents_(std::move(contents)), file_(std::move(file)) {}

Result<MatrixFile> MatrixFile::open(const std::string& folder, const MatrixHeader& header) {
  auto made = MadeFolder::make((std::filesystem::path(folder) / "faults").string());
  if (!made.ok()) return made.error();
  std::error_code code;
  const bool is_new = !std::filesystem::exists(matrix_file(folder), code);
  auto locked = LineFile::open(matrix_file(folder));
  if (!locked.ok()) return locked.error();
  auto lines = read_lines(folder);
  if (!lines.ok()) return lines.error();
  const std::string first = header_to_json(header).dump();
  // Also after a crash while the header was written.
  const bool begins = lines.value().num_bytes == 0;
  if (begins && !first.starts_with(lines.value().unfinished)) return no_header(folder);
  if (begins) {
    lines.value().contents.header = header;
  } else if (const auto difference =
                 whole_header_difference(lines.value().contents.header, header)) {
    return invalid_input(
        fmt::format("{} has a matrix of another {}: {}, not {} (give another --out)", folder,
                    difference->what, difference->a, difference->b));
  }
  if (Status cut = locked.value().cut(lines.value().num_bytes); !cut.ok()) return cut.error();
  MatrixFile file(folder, std::move(lines).value().contents, std::move(locked).value());
  file.made_ = made.value().keep();
  if (is_new) file.made_.push_back(matrix_file(folder));
  if (Status begun = begins ? file.append(first) : Ok{}; !begun.ok()) return begun.error();
  return file;
}

// Without results, all that was made goes.
void MatrixFile::remove_without_results(const std::string& unused_file) const {
  std::error_code code;
  if (!unused_file.empty()) std::filesystem::remove(unused_file, code);
  const bool has_results = !contents_.cells.empty() || !contents_.faults.empty();
  for (auto path = made_.rbegin(); path != made_.rend() && !has_results; ++path)
    std::filesystem::remove(*path, code);
}

Status MatrixFile::append(const std::string& line, const std::string& its_file) {
  if (failure_) return *failure_;
  const bool failed_before = file_.failure().has_value();
  Status added = file_.append(line);
  if (!added.ok() && !failed_before && !file_.was_replaced()) remove_without_results(its_file);
  return added;
}

Status MatrixFile::add(const CellResult& cell) {
  if (Status added = append(cell_to_json(cell).dump()); !added.ok()) return added;
  contents_.cells[cell_name(cell.cell)] = cell;
  return Ok{};
}

Status MatrixFile::add_cells(const MatrixContents& merged) {
  for (const auto& [name, cell] : contents_.cells) {
    const auto found = merged.cells.find(name);
    if (found == merged.cells.end() || !(found->second == cell))
      return invalid_input(
          fmt::format("{} has another result of cell {} (give another --out)", folder_, name));
  }
  if (!contents_.faults.empty() && contents_.cells.size() < merged.cells.size())
    return invalid_input(
        fmt::format("{} has faults of fewer cells already (give another --out)", folder_));
  for (const auto& [name, cell] : merged.cells)
    if (!contents_.cells.contains(name))
      if (Status added = add(cell); !added.ok()) return added;
  return Ok{};
}

Status MatrixFile::add(const MatrixFault& fault, const std::string& scenario) {
  if (failure_) return *failure_;
  if (file_.failure()) return *file_.failure();
  std::string made;
  if (!fault.file.empty()) {
    const std::string path = (std::filesystem::path(folder_) / fault.file).string();
    if (std::error_code code; !std::filesystem::exists(path, code)) made = path;
    if (Status written = write_output_file(path, scenario); !written.ok()) {
      failure_ = written.error();
      remove_without_results();
      return written;
    }
  }
  if (Status added = append(fault_to_json(fault).dump(), made); !added.ok()) return added;
  contents_.faults[fault_key(fault)] = fault;
  return Ok{};
}

}  // namespace hybridscope
