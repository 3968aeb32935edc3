// Layouts under names, one file each in a folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/layout_json.h"
#include "gui/model/layout_tree.h"

namespace hybridscope {

// Keeps nothing but the folder's name: what another program does there is seen at once. Names are
// those of check_layout_name; any other is error invalid_input.
class LayoutStore {
 public:
  explicit LayoutStore(std::string folder) : folder_(std::move(folder)) {}

  // In ascending order of bytes; files whose name is none of a layout are not listed. None without
  // the folder. Error io: the folder cannot be read.
  Result<std::vector<std::string>> names() const;
  // Errors: not_found; io, the file cannot be read; those of read_layout.
  Result<ReadLayout> load(const std::string& name, const IsKnownPanel& is_known) const;
  // Writes over a layout of that name. Errors: those of write_user_file.
  Status save(const std::string& name, const LayoutTree& tree) const;
  // Errors: not_found; io, the file cannot be deleted.
  Status remove(const std::string& name) const;

 private:
  Result<std::string> path_of(const std::string& name) const;
  Error missing(const std::string& name) const;

  std::string folder_;
};

}  // namespace hybridscope
