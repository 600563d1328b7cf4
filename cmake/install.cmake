# What `cmake --install` leaves: headers, both libraries, the program where it is built, and how CMake and pkg-config
# find them. The tree may be moved afterwards: nothing in it names where it was built or first lay.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sightline)
install(DIRECTORY include/sightline ${PROJECT_BINARY_DIR}/include/sightline TYPE INCLUDE COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE README.md TYPE DOC COMPONENT development)
install(DIRECTORY docs TYPE DOC COMPONENT development)

install(TARGETS sightline_attention EXPORT sightline_attention ARCHIVE COMPONENT development)
install(TARGETS sightline_c EXPORT sightline_c LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)
set(installed sightline_attention sightline_c)
if(TARGET sightline)
  install(TARGETS sightline RUNTIME COMPONENT program)
  # What `pull` and `import` run, where the program looks for it.
  install(DIRECTORY tools/models tools/import DESTINATION share/sightline/tools COMPONENT program
    FILES_MATCHING PATTERN "*.py" PATTERN "*.json" PATTERN "__pycache__" EXCLUDE)
  list(APPEND installed sightline_engine sightline_serve sightline_cli sightline)
endif()
set(components attention c)
set(packages sightline sightline-attention)
if(TARGET sightline_model)
  install(TARGETS sightline_model EXPORT sightline_model ARCHIVE COMPONENT development)
  list(APPEND installed sightline_model)
  list(APPEND components model)
  list(APPEND packages sightline-model)
endif()
foreach(target IN LISTS installed)
  target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
endforeach()

# A file of targets for each component, so that users of the C library need nothing that the C++ one is built on.
foreach(component IN LISTS components)
  install(EXPORT sightline_${component} NAMESPACE sightline:: DESTINATION ${package_dir}
    FILE sightline-${component}-targets.cmake COMPONENT development)
endforeach()
if(SIGHTLINE_SHARED)
  set(c_needs_attention FALSE)
else()
  set(c_needs_attention TRUE)
  set(pc_static_requires sightline-attention)
  set(pc_static_libs -lstdc++)
endif()
configure_package_config_file(packaging/sightline-config.cmake.in ${PROJECT_BINARY_DIR}/sightline-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sightline-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sightline-config.cmake ${PROJECT_BINARY_DIR}/sightline-config-version.cmake
  DESTINATION ${package_dir} COMPONENT development)

# pkg-config's prefix is found from where its file lies. A directory that was given as an absolute path stays that.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_up ${pc_up})
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
foreach(package IN LISTS packages)
  configure_file(packaging/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${pc_dir} COMPONENT development)
endforeach()
