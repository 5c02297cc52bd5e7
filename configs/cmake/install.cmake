# `cmake --install`: the program, the rooms' libraries and headers, and a package config, so that
# find_package(lynxkv) gives targets lynxkv::<room>.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
get_property(rooms GLOBAL PROPERTY lynxkv_rooms)
foreach(room IN LISTS rooms)
  string(REPLACE "lynxkv_" "" short ${room})
  set_target_properties(${room} PROPERTIES EXPORT_NAME ${short})
endforeach()
install(TARGETS ${rooms} EXPORT lynxkv ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS lynxkv RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY src/ DESTINATION include/lynxkv FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY kernels comm DESTINATION include/lynxkv FILES_MATCHING PATTERN "*.hpp")
install(EXPORT lynxkv NAMESPACE lynxkv:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lynxkv)
configure_package_config_file(configs/cmake/lynxkv-config.cmake.in lynxkv-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lynxkv)
write_basic_package_version_file(lynxkv-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES configs/cmake/FindoneDNN.cmake "${CMAKE_CURRENT_BINARY_DIR}/lynxkv-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/lynxkv-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lynxkv)
