#!/usr/bin/env python3
"""Plants includes in a small tree and checks what check_layers finds."""

import tempfile
import unittest
from pathlib import Path

import check_layers


class CheckLayers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, path: str, *lines: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def faults_of(self, path: str, include: str) -> list[str]:
        self.plant(path, "#pragma once", f"#include {include}")
        found = check_layers.faults(self.root)
        (self.root / path).unlink()
        return found

    def assert_each_found(self, cases: list[tuple[str, str]]) -> None:
        for path, include in cases:
            with self.subTest(path=path, include=include):
                found = self.faults_of(path, include)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f"{path}:2: "), found)

    def assert_none_found(self, cases: list[tuple[str, str]]) -> None:
        for path, include in cases:
            with self.subTest(path=path, include=include):
                self.assertEqual(self.faults_of(path, include), [])

    def test_arrows_inside_core_point_one_way(self) -> None:
        self.assert_each_found([
            ("core/base/ids.h", '"core/model/kv_cache_spec.h"'),
            ("core/model/model_spec.h", '"core/caching/block_pool.h"'),
            ("core/caching/block_pool.h", '"core/metadata/batch_split.h"'),
            ("core/caching/block_pool.h", '"core/state/state_memory.h"'),
            ("core/metadata/gdn_builder.cpp", '"core/caching/block_pool.h"'),
            ("core/metadata/gdn_builder.cpp", '"core/state/state_memory.h"'),
            ("core/state/state_memory.h", '"core/metadata/batch_split.h"'),
            ("core/state/state_memory.h", '"core/trace/step_trace.h"'),
            ("core/trace/step_trace.h", '"core/engine/engine.h"'),
            ("core/trace/step_trace.h", '"core/check/findings.h"'),
        ])

    def test_the_python_module_is_above_the_jobs(self) -> None:
        self.assert_none_found([
            ("integrations/python/src/python_values.h", '"sessions/job/judge_session.h"'),
            ("integrations/python/src/python_values.h", '"app/state_devices.h"'),
            ("integrations/python/src/python_values.h", "<pybind11/pybind11.h>"),
        ])
        self.assert_each_found([
            ("sessions/job/judge_session.h", '"integrations/python/src/python_values.h"'),
            ("integrations/python/src/python_values.h", '"gui/panel.h"'),
            ("integrations/python/src/python_values.h", '"cli/run_command.h"'),
            ("sessions/job/judge_session.h", "<pybind11/pybind11.h>"),
        ])

    def test_the_step_trace_reaches_values_only(self) -> None:
        trace = "core/trace/step_trace.h"
        self.plant(trace, "#pragma once", '#include "core/metadata/gdn_metadata.h"')
        self.plant("core/metadata/gdn_metadata.h", "enum class Kind { a };", "struct GdnMetadata {",
                   "  template <class T> T get();", "};", "class Later;", "#include <vector>")
        self.assertEqual(check_layers.value_faults(self.root), [])

        self.plant("core/metadata/gdn_metadata.h", '#include "core/metadata/gdn_builder.h"')
        self.plant("core/metadata/gdn_builder.h", "#include <memory>", "class GdnMetadataBuilder {")
        reached = f"({trace} reaches this header)"
        self.assertEqual(check_layers.value_faults(self.root), [
            f"core/metadata/gdn_builder.h:1: value headers include no <memory> {reached}",
            "core/metadata/gdn_builder.h:2: class GdnMetadataBuilder: values are structs "
            + reached,
        ])

    def test_check_and_engine_do_not_know_each_other(self) -> None:
        self.assert_each_found([
            ("core/check/execute.cpp", '"core/engine/engine.h"'),
            ("core/engine/engine.cpp", '"core/check/execute.h"'),
        ])

    def test_arrows_between_folders_point_one_way(self) -> None:
        self.assert_each_found([
            ("core/engine/engine.cpp", '"sessions/scenario/scenario.h"'),
            ("core/state/state_backend.h", '"kernels/cpu/cpu_backend.h"'),
            ("kernels/cpu/cpu_backend.cpp", '"sessions/scenario/scenario.h"'),
            ("sessions/run/player.cpp", '"kernels/cpu/cpu_backend.h"'),
            ("sessions/run/player.cpp", '"storage/session_store.h"'),
            ("sessions/run/player.cpp", '"cli/run.h"'),
            ("storage/session_store.cpp", '"gui/model/timeline.h"'),
            ("gui/model/timeline.h", '"gui/widgets/scrubber.h"'),
            ("gui/panels/timeline.h", '"storage/session_store.h"'),
            ("gui/panels/timeline.cpp", '"cli/run.h"'),
            ("cli/run.cpp", '"gui/window.h"'),
            ("cli/run.cpp", '"kernels/cpu/cpu_backend.h"'),
            ("cli/run.cpp", '"app/main.h"'),
            ("core/base/ids.h", '"tests/support/golden.h"'),
        ])

    def test_arrows_between_rooms_of_sessions_point_one_way(self) -> None:
        self.assert_each_found([
            ("sessions/text/json_reader.cpp", '"sessions/scenario/scenario.h"'),
            ("sessions/text/json_reader.cpp", '"core/engine/engine.h"'),
            ("sessions/scenario/scenario.cpp", '"sessions/explain/explain_step.h"'),
            ("sessions/explain/explain_step.cpp", '"sessions/run/runner.h"'),
            ("sessions/run/runner.cpp", '"sessions/record/step_record.h"'),
            ("sessions/diff/session_diff.cpp", '"sessions/judge/judged_trace.h"'),
            ("sessions/loose.cpp", '"core/base/result.h"'),
        ])

    def test_right_arrows_pass(self) -> None:
        self.assert_none_found([
            ("core/base/result.h", '"core/base/ids.h"'),
            ("core/check/findings.h", '"core/trace/step_trace.h"'),
            ("core/engine/engine.h", '"core/trace/step_trace.h"'),
            ("kernels/cpu/cpu_backend.h", '"core/state/state_backend.h"'),
            ("sessions/run/runner.h", '"core/engine/engine.h"'),
            ("storage/session_store.h", '"sessions/run/runner.h"'),
            ("gui/panels/timeline.cpp", '"gui/model/timeline.h"'),
            ("gui/model/recorded.cpp", '"storage/session_store.h"'),
            ("cli/run.cpp", '"core/check/execute.h"'),
            ("app/main.cpp", '"kernels/cpu/cpu_backend.h"'),
            ("app/main.cpp", '"cli/run.h"'),
            ("tests/core/check/execute_test.cpp", '"core/engine/engine.h"'),
            ("bench/core/metadata/mamba2_builder_bench.cpp", '"tests/support/batches.h"'),
        ])

    def test_core_has_only_the_quiet_part_of_the_standard_library(self) -> None:
        self.assert_each_found([
            ("core/base/result.cpp", f"<{name}>")
            for name in ("iostream", "fstream", "thread", "chrono", "random", "mutex", "filesystem",
                         "nlohmann/json.hpp", "fmt/core.h", "unistd.h", "stdint.h", "sqlite3.h")
        ])
        self.assert_none_found([
            ("core/base/result.cpp", f"<{name}>") for name in ("vector", "span", "string", "cstdint")
        ])
        self.assert_none_found([("sessions/traffic/traffic_rows.cpp", "<fstream>")])

    def test_an_external_header_stays_in_its_home(self) -> None:
        self.assert_each_found([
            ("gui/model/timeline.cpp", "<imgui.h>"),
            ("cli/run.cpp", "<imgui.h>"),
            ("sessions/run/player.cpp", "<sqlite3.h>"),
            ("sessions/run/player.cpp", "<SQLiteCpp/SQLiteCpp.h>"),
            ("core/state/state_backend.cpp", "<cuda_runtime.h>"),
            ("app/main.cpp", "<cuda_runtime.h>"),
            ("kernels/cpu/cpu_backend.cpp", "<nlohmann/json.hpp>"),
            ("gui/panels/timeline.cpp", "<nlohmann/json.hpp>"),
            ("sessions/run/player.cpp", "<gtest/gtest.h>"),
            ("tests/gui/model/timeline_test.cpp", "<imgui.h>"),
            ("sessions/run/player.cpp", "<boost/optional.hpp>"),
        ])
        self.assert_none_found([
            ("gui/panels/timeline.cpp", "<imgui.h>"),
            ("tests/gui/panels/timeline_test.cpp", "<imgui.h>"),
            ("storage/session_store.cpp", "<sqlite3.h>"),
            ("tests/storage/session_store_test.cpp", "<sqlite3.h>"),
            ("kernels/cuda/cuda_backend.cu", "<cuda_runtime.h>"),
            ("sessions/scenario/scenario.cpp", "<nlohmann/json.hpp>"),
            ("cli/run.cpp", "<nlohmann/json.hpp>"),
            ("storage/session_store.cpp", "<nlohmann/json.hpp>"),
            ("tests/core/caching/golden_test.cpp", "<nlohmann/json.hpp>"),
            ("tests/core/caching/golden_test.cpp", "<gmock/gmock.h>"),
        ])

    def test_our_headers_are_quoted_and_named_from_the_root(self) -> None:
        self.assert_each_found([
            ("core/base/result.h", '"ids.h"'),
            ("core/base/result.h", '"../model/kv_cache_spec.h"'),
            ("core/model/model_spec.h", "<core/base/ids.h>"),
            ("core/base/result.h", "HEADER_OF_THE_DAY"),
        ])

    def test_a_folder_without_a_row_is_found(self) -> None:
        self.assert_each_found([
            ("utils/strings.h", "<string>"),
            ("core/extra/strings.h", "<string>"),
            ("main.cpp", "<string>"),
        ])

    def test_every_fault_of_a_file_is_reported_with_its_line(self) -> None:
        self.plant("core/base/ids.h", "// text", "  #  include <chrono>", "", "#include <thread>")
        found = check_layers.faults(self.root)
        self.assertEqual([fault.split(": ")[0] for fault in found],
                         ["core/base/ids.h:2", "core/base/ids.h:4"])

    def test_build_folders_are_not_read(self) -> None:
        self.plant("build/dev/_deps/x.h", "#include <imgui.h>")
        self.plant("build-gcc/x.h", "#include <imgui.h>")
        self.assertEqual(check_layers.faults(self.root), [])

    def test_arrows_have_no_circle(self) -> None:
        def below(folder: str, seen: tuple[str, ...]) -> None:
            self.assertNotIn(folder, seen)
            for lower in check_layers.ARROWS[folder]:
                below(lower, seen + (folder,))

        for folder in check_layers.ARROWS:
            below(folder, ())


if __name__ == "__main__":
    unittest.main()
