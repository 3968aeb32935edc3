#include "gui/model/layout_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "gui/model/gui_paths.h"
#include "gui/model/user_files.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSuffix = ".json";

bool is_missing(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory;
}

// The name of the layout that a file holds; empty: it holds none.
std::string name_of(const fs::directory_entry& entry) {
  std::error_code error;
  std::string name = entry.path().filename().string();
  if (!name.ends_with(kSuffix) || !entry.is_regular_file(error)) return {};
  name.resize(name.size() - kSuffix.size());
  return check_layout_name(name).ok() ? name : std::string();
}

}  // namespace

Result<std::string> LayoutStore::path_of(const std::string& name) const {
  if (const Status checked = check_layout_name(name); !checked.ok()) return checked.error();
  return fmt::format("{}/{}{}", folder_, name, kSuffix);
}

Error LayoutStore::missing(const std::string& name) const {
  return {ErrorKind::not_found, fmt::format("there is no layout \"{}\" in {}", name, folder_)};
}

Result<std::vector<std::string>> LayoutStore::names() const {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder_, error);
  if (is_missing(error)) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (std::string name = name_of(*entry); !name.empty()) names.push_back(std::move(name));
  if (error)
    return Error{ErrorKind::io, fmt::format("cannot list {}: {}", folder_, error.message())};
  std::sort(names.begin(), names.end());
  return names;
}

Result<ReadLayout> LayoutStore::load(const std::string& name, const IsKnownPanel& is_known) const {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  std::error_code error;
  if (fs::status(path.value(), error).type() == fs::file_type::not_found) return missing(name);
  const auto text = read_text_file(path.value());
  if (!text.ok()) return text.error();
  return read_layout(text.value(), path.value(), is_known);
}

Status LayoutStore::save(const std::string& name, const LayoutTree& tree) const {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  return write_user_file(path.value(), layout_to_json(tree));
}

Status LayoutStore::remove(const std::string& name) const {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  std::error_code error;
  if (fs::remove(path.value(), error)) return Ok{};
  if (!error) return missing(name);
  return Error{ErrorKind::io, fmt::format("cannot delete {}: {}", path.value(), error.message())};
}

}  // namespace hybridscope
