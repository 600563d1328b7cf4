# What crosses folders. Tests of attention alone link to it alone, so that they are cross-compiled too.
sightline_test(test_attention_wide sightline_attention tests/attention)
if(TARGET test_attention_wide)
  target_sources(test_attention_wide PRIVATE
    tests/attention/contiguous.cc tests/attention/emulated_tiles.cc tests/attention/failing_memory.cc
    tests/attention/feature_functions.cc tests/attention/features.cc tests/attention/formats.cc
    tests/attention/key_part.cc tests/attention/observed.cc
    tests/attention/operand.cc tests/attention/paging.cc tests/attention/part.cc tests/attention/passes.cc
    tests/attention/random_problem.cc tests/attention/recipe.cc tests/attention/reference_check.cc
    tests/attention/row_bounds.cc tests/attention/sequences.cc tests/attention/skips.cc tests/attention/strided.cc)
endif()
if(NOT SIGHTLINE_ATTENTION_ONLY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # A sanitizer adds symbols of its own; other machines have none of these units.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT SIGHTLINE_SANITIZE)
    add_test(NAME symbols.fast COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/fast_symbols_test.py
      $<TARGET_FILE:sightline_attention> $<TARGET_FILE:sightline_model>)
  endif()
  # With what tools/dev/page_tools.sh gets them, where it ran; they say what they miss otherwise.
  set(page_python ${PROJECT_SOURCE_DIR}/build-page/bin/python)
  if(NOT EXISTS ${page_python})
    set(page_python Python3::Interpreter)
  endif()
  add_test(NAME page.link COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/link_page_test.py)
  # The page in a browser, one test at a time: two would take the processor from each other.
  file(GLOB page_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/page/*_test.py)
  foreach(path IN LISTS page_tests)
    cmake_path(GET path STEM name)
    string(REGEX REPLACE "_test$" "" name ${name})
    add_test(NAME page.${name} COMMAND ${page_python} ${path})
    set_tests_properties(page.${name} PROPERTIES ENVIRONMENT SIGHTLINE=$<TARGET_FILE:sightline> SKIP_RETURN_CODE 77
      RESOURCE_LOCK browser TIMEOUT 900)
  endforeach()
  set_tests_properties(page.map page.source_file PROPERTIES RUN_SERIAL ON)  # they bound times
  # The cases that are kept with the sources, and all of them where they are to be had.
  add_test(NAME conform.data COMMAND sightline-conform ${PROJECT_SOURCE_DIR}/tests/data)
  add_test(NAME conform.reference COMMAND sightline-conform --reference --filter attention/ ${PROJECT_SOURCE_DIR}/tests/data)
  set(shared ${PROJECT_SOURCE_DIR}/../shared)
  if(EXISTS ${shared}/conformance AND EXISTS ${shared}/cases)
    add_test(NAME conform.all COMMAND sightline-conform ${shared}/conformance ${shared}/cases)
    add_test(NAME conform.reference_all COMMAND sightline-conform --reference ${shared}/conformance/attention)
  endif()
  # tools/import needs NumPy, which on Debian belongs to the system's interpreter.
  find_program(SIGHTLINE_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  set(import_python ${Python3_EXECUTABLE})
  if(SIGHTLINE_SYSTEM_PYTHON)
    set(import_python ${SIGHTLINE_SYSTEM_PYTHON})
  endif()
  add_test(NAME conform.published COMMAND ${import_python} ${PROJECT_SOURCE_DIR}/tests/published_models_test.py)
  set_tests_properties(conform.published PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "SIGHTLINE_CONFORM=$<TARGET_FILE:sightline-conform>;SIGHTLINE=$<TARGET_FILE:sightline>")
  # docs/claims.md, each number of it measured again but times.
  add_test(NAME claims COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/claims/claims.py check)
  set_tests_properties(claims PROPERTIES ENVIRONMENT SIGHTLINE=$<TARGET_FILE:sightline> SKIP_RETURN_CODE 77 TIMEOUT 900)
  add_test(NAME claims.program COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/claims_test.py)
  # What is installed has no sanitizer to offer to programs that link it.
  if(SIGHTLINE_INSTALL AND NOT SIGHTLINE_SANITIZE)
    add_test(NAME package COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/package_test.py)
    set_tests_properties(package PROPERTIES ENVIRONMENT SIGHTLINE_BUILD=${PROJECT_BINARY_DIR} TIMEOUT 900)
  endif()
  # The program on the screen of a pseudo-terminal.
  file(GLOB terminal_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/terminal/*_test.py)
  foreach(path IN LISTS terminal_tests)
    cmake_path(GET path STEM name)
    string(REGEX REPLACE "_test$" "" name ${name})
    add_test(NAME terminal.${name} COMMAND Python3::Interpreter ${path})
    set_tests_properties(terminal.${name} PROPERTIES ENVIRONMENT SIGHTLINE=$<TARGET_FILE:sightline> TIMEOUT 900)
  endforeach()
  # The program as a server. What measures time has the machine to itself.
  foreach(test api clients security openapi cases schemathesis)
    add_test(NAME serve.${test} COMMAND ${page_python} ${PROJECT_SOURCE_DIR}/tests/serve/${test}_test.py)
    set_tests_properties(serve.${test} PROPERTIES ENVIRONMENT SIGHTLINE=$<TARGET_FILE:sightline> TIMEOUT 900
      SKIP_RETURN_CODE 77)
  endforeach()
  set_tests_properties(serve.clients PROPERTIES RUN_SERIAL ON)
  add_test(NAME conform.program COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/conform_test.py)
  add_test(NAME conform.usage COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/conform_usage_test.py)
  set_tests_properties(conform.program conform.usage PROPERTIES ENVIRONMENT SIGHTLINE_CONFORM=$<TARGET_FILE:sightline-conform>)
endif()
