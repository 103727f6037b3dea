// swift-tools-version: 6.1
// Benchmarks: the raw C floor and CipherData on the same data in the same run. A nested package, so that nothing here reaches a user.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "CipherData", path: "..", traits: [])],
  targets: [
    .systemLibrary(name: "SystemSQLCipher", pkgConfig: "sqlcipher", providers: [.apt(["libsqlcipher-dev"])]),
    // The data generator and the checksums: both sides use these very functions.
    .target(name: "BenchmarkData"),
    // What a good hand-written C program does: the limit that we measure against.
    .target(name: "RawFloor", dependencies: ["BenchmarkData", "SystemSQLCipher"]),
    // The classes of both models, as users get them: generated, each model's in a module of its own.
    .target(
      name: "LibraryClasses", dependencies: [.product(name: "CipherData", package: "CipherData")], swiftSettings: strict,
      plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .target(
      name: "ArchiveClasses", dependencies: [.product(name: "CipherData", package: "CipherData")], swiftSettings: strict,
      plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .executableTarget(
      name: "benchmark",
      dependencies: [
        "BenchmarkData", "RawFloor", "LibraryClasses", "ArchiveClasses", .product(name: "CipherData", package: "CipherData"),
        .product(name: "_AllocationCounter", package: "CipherData"),
      ], swiftSettings: strict),
  ]
)

// What sources that import CoreData cost, where the system has no framework of that name.
#if os(Linux)
  package.targets.append(
    .executableTarget(
      name: "core-data-module",
      dependencies: [
        "LibraryClasses", .product(name: "CipherData", package: "CipherData"), .product(name: "CoreData", package: "CipherData"),
      ], resources: [.copy("Bookshop.xcdatamodeld")], swiftSettings: [.swiftLanguageMode(.v5)],
      plugins: [.plugin(name: "CoreDataSources", package: "CipherData")]))
#endif
