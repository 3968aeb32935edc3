// What the workbench remembers between two starts: look, recent files, layouts. Nothing where no
// folder is given, so that tests and screenshots neither read nor write a person's files.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/gui_paths.h"
#include "gui/model/gui_settings.h"
#include "gui/model/layout_json.h"
#include "gui/model/layout_tree.h"
#include "gui/model/view_state.h"

namespace hybridscope {

// Layouts under names, one file each in a folder.

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

class UserMemory {
 public:
  UserMemory() = default;  // remembers nothing
  // Error not_available: no variable names a folder.
  static Result<UserMemory> at(const EnvironmentLookup& lookup);

  // Takes over what was remembered. Gives notes for people, one a thing that could not be taken
  // over; settings that cannot be read are left alone from then on.
  std::vector<std::string> recall(ViewState& view);
  // Keeps look, recent files and layout. Error: the files cannot be written.
  Status keep(const ViewState& view);

  const std::vector<std::string>& recent_files() const { return settings_.recent_files; }
  void add_recent_file(const std::string& file);
  const WindowSize& window() const { return settings_.window; }
  void set_window(WindowSize window) { settings_.window = window; }

  // Layouts by name; error not_available where nothing is remembered. "last" is kept by keep(), and
  // nobody else saves one of that name.
  Result<std::vector<std::string>> layout_names() const;
  Status save_layout(const std::string& name, const LayoutTree& layout) const;
  Result<ReadLayout> load_layout(const std::string& name, const ViewState& view) const;
  Status remove_layout(const std::string& name) const;

 private:
  Result<LayoutStore> store() const;

  std::string settings_path_;  // empty: nothing is remembered
  std::string layouts_folder_;
  bool settings_are_ours_ = true;  // false: they could not be read, and are not written over
  GuiSettings settings_;
};

}  // namespace hybridscope
