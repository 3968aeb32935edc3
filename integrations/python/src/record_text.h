// Python values as JSON, in two steps: what needs the GIL, and the rest.
#pragma once

#include <pybind11/pybind11.h>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "integrations/python/src/tensors.h"
#include "integrations/python/src/text_buffer.h"

namespace hybridscope {

class RecordText {
 public:
  // Takes dicts, lists, tuples, sets (sorted), text, numbers, None, parts, and arrays of whole
  // numbers, floats or booleans: objects with the buffer protocol, of any shape, whose bytes are
  // copied, or whose host_array() gives one. Other objects are asked for tolist(). Throws the
  // Python exception of a value that cannot be taken. Requires: the GIL.
  explicit RecordText(const pybind11::handle& record);
  // Takes another record, in the memory that it has. Requires: the GIL.
  void take(const pybind11::handle& record);

  // A part of a record to come: of the functions below, one. It also takes the tensors of
  // `tensors`; other objects become null. Requires: the GIL.
  explicit RecordText(Tensors& tensors);
  // `repeated`: texts of parts before this one, of the same `name` (an interned str).
  void take_part(const pybind11::str& name, const pybind11::handle& value, RepeatedTexts& repeated);
  void take_value(const pybind11::handle& value);
  void take_rows(const pybind11::handle& array, const pybind11::handle& rows);
  void take_fields(const pybind11::dict& fields, const pybind11::dict& made);

  // Forgets the record, and keeps the memory. Without the GIL.
  void clear();
  // The line of a record, newline included; waits for its arrays. Without the GIL. Throws
  // std::runtime_error: a device does not give an array.
  std::string line() const;
  // The array, if the part is one array; null: it is not. `host_bytes`: bytes of
  // KeptArray::elements().
  const KeptArray* single_array() const;
  std::string_view host_bytes() const { return bytes_.view(); }

 private:
  // What becomes text with the line, or was text before.
  struct Piece {
    std::size_t at = 0;  // where it stands in text_
    std::variant<KeptArray, std::shared_ptr<const std::string>> value;
  };

  void add(pybind11::handle value);
  bool add_if_known(pybind11::handle value);
  bool add_container(pybind11::handle value);
  void add_text(pybind11::handle value);
  void add_dict(pybind11::handle value);
  void add_member(pybind11::handle item);
  void add_items(pybind11::handle sequence);
  bool add_object(pybind11::handle value);
  void add_part(const RecordText& part);
  bool add_array(pybind11::handle value);
  bool add_tensor(pybind11::handle tensor);
  void add_kept(KeptArray array);

  TextBuffer text_;  // without the pieces
  std::vector<Piece> pieces_;
  TextBuffer bytes_{0};         // of the host's arrays
  Tensors* tensors_ = nullptr;  // of a part
  RepeatedTexts* repeated_ = nullptr;
  std::size_t place_ = 1;           // of what is added: from its keys; 0: it is in a list
  bool only_leaves_ = true;         // text, numbers and None, since this was set
  bool tells_empty_shape_ = false;  // of KeptArray
};

// How an engine's thread takes what the engine goes on to change.

// Text, numbers and lists become text at once, arrays of the host are copied, and tensors of a
// device come with the next launch(). Each function, the destructor too, requires the GIL.
class StepValues {
 public:
  explicit StepValues(Tensors tensors) : tensors_(std::move(tensors)) {}

  // The text of lists, dicts, text and numbers; `name` (an interned str) is the same for what is
  // alike in each step.
  RecordText part(const pybind11::str& name, const pybind11::handle& value);
  RecordText snapshot(const pybind11::handle& value);
  // The rows of an array (one dimension or more) that `rows`, whole numbers of the host, name.
  RecordText rows(const pybind11::handle& array, const pybind11::handle& rows);
  // A dict of `fields` (a dict); those in `made` are what is there. Left out: objects that are no
  // JSON and have no tolist(), and tensors of types that are not taken. Matrices without elements
  // tell their shape.
  RecordText fields(const pybind11::dict& fields, const pybind11::dict& made);
  // Begins the copies of the device's tensors.
  void launch() { tensors_.launch(); }

 private:
  RepeatedTexts repeated_;
  Tensors tensors_;
};

}  // namespace hybridscope
