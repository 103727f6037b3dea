// swift-tools-version: 6.1
// CipherData: Core Data for every Swift platform, encrypted from the first byte.
import CompilerPluginSupport
import Foundation
import PackageDescription

/// The library's inner tables check themselves where its own tests run (Scripts/test sets the variable): users never pay for that, in debug builds
/// neither.
let checks: [SwiftSetting] = Context.environment["CIPHERDATA_CHECKS"] == "1" ? [.define("CIPHERDATA_CHECKS")] : []

/// libFuzzer sees the library's own code (Scripts/fuzz-program sets the variable). With the packages that it depends on, the tool's arguments take half as long
/// again, and most inputs that are kept reach nothing new but in the argument parser.
let coverage: [SwiftSetting] = Context.environment["CIPHERDATA_FUZZING"] == "1" ? [.unsafeFlags(["-sanitize=fuzzer"])] : []

/// Settings of every target of ours: the language mode is Swift 6 (the tools version's default).
let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + checks + coverage

/// A module of the library.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// A module's tests.
func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

/// Whether another package has fetched this one: then the manifest lies among that package's checkouts, or, while versions are being looked for, nowhere.
let isFetched: Bool = {
  let folder = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent()
  let repositories = folder.deletingLastPathComponent().appendingPathComponent("repositories")
  return Context.packageDirectory == "/"
    || folder.lastPathComponent == "checkouts" && FileManager.default.fileExists(atPath: repositories.path)
}()

/// The tool is built in a clone without a word; applications that have fetched the package do not fetch the argument parser for it.
let defaultTraits: Set<Trait> = isFetched ? [] : [.default(enabledTraits: ["Tool"])]

let argumentParser: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Tool"]))
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let orderedCollections: Target.Dependency = .product(name: "OrderedCollections", package: "swift-collections")

let package = Package(
  name: "CipherData",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "CipherData", targets: ["CipherData"]),
    .library(name: "CipherDataCoreDataImport", targets: ["CoreDataImport"]),
    .library(name: "CipherDataEngine", targets: ["CipherDataEngine"]),
    .executable(name: "cipherdata", targets: ["CipherDataTool"]),
    .plugin(name: "GenerateManagedObjects", targets: ["GenerateManagedObjects"]),
    .library(name: "_StoreSpecification", targets: ["_StoreSpecification"]),
    .library(name: "_AllocationCounter", targets: ["_AllocationCounter"]),
    .library(name: "_FuzzTargets", targets: ["_FuzzTargets"]),
  ],
  traits: defaultTraits.union([
    .trait(
      name: "Macros",
      description: "Entities written as Swift classes with @Entity. Builds swift-syntax, which is not even fetched without it."),
    .trait(
      name: "Tool",
      description: "The command-line tool cipherdata. Builds swift-argument-parser, which is not even fetched without it."),
  ]),
  dependencies: [
    // Only with the trait Tool.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    // Only with the trait Macros.
    .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.1"..<"700.0.0"),
  ],
  targets: [
    // The system's libraries.
    .systemLibrary(name: "CSQLCipher", pkgConfig: "sqlcipher", providers: [.apt(["libsqlcipher-dev"])]),
    .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // What only C can say to the compiler and the processor: see its header.
    .systemLibrary(name: "CProcessor"),
    // Of the tool only.
    .systemLibrary(name: "CLibedit", pkgConfig: "libedit", providers: [.apt(["libedit-dev"])]),

    // The library, from the bottom up.
    module("StoreKeys", ["CLibcrypto"]),
    tests("StoreKeysTests", ["StoreKeys"]),
    module("StoreFiles", ["StoreKeys"]),
    tests("StoreFilesTests", ["StoreFiles", "StoreKeys", "_TestSupport"]),
    module("SQLCipherConnection", ["CSQLCipher", "StoreKeys", "StoreFiles"]),
    tests(
      "SQLCipherConnectionTests", ["SQLCipherConnection", "StoreFiles", "StoreKeys", "_TestSupport"], resources: [.copy("Fixtures")]),
    module("ObjectModel", ["CLibcrypto"]),
    .testTarget(
      name: "ObjectModelTests", dependencies: ["ObjectModel", "_TestSupport"], exclude: ["Documents"], swiftSettings: strict),
    module("ObjectQuery", ["ObjectModel"]),
    tests("ObjectQueryTests", ["ObjectQuery", "ObjectModel", "_TestSupport"]),
    module("ObjectStore", ["CProcessor", "ObjectModel", "ObjectQuery", logging]),
    tests("ObjectStoreTests", ["ObjectStore", "ObjectQuery", "ObjectModel", "_StoreSpecification", "_TestSupport"]),
    module(
      "SQLCipherStore",
      ["CZlib", "SQLCipherConnection", "StoreFiles", "StoreKeys", "ObjectModel", "ObjectQuery", "ObjectStore", logging]),
    tests(
      "SQLCipherStoreTests",
      [
        "SQLCipherStore", "SQLCipherConnection", "StoreFiles", "StoreKeys", "ObjectContext", "ObjectStore", "ObjectQuery", "ObjectModel",
        "_StoreSpecification", "_TestSupport",
      ], resources: [.copy("Fixtures")]),
    module("ObjectContext", ["CProcessor", "ObjectModel", "ObjectQuery", "ObjectStore", orderedCollections]),
    module(
      "CipherData",
      [
        "ObjectModel", "ObjectQuery", "ObjectStore", "ObjectContext", "SQLCipherStore", "StoreKeys",
        .target(name: "CipherDataMacros", condition: .when(traits: ["Macros"])),
      ]),
    module("CipherDataEngine", ["ObjectModel", "ObjectQuery", "ObjectStore"]),
    // Of the trait Macros only; without it an empty program.
    .macro(
      name: "CipherDataMacros",
      dependencies: [
        .product(name: "SwiftCompilerPlugin", package: "swift-syntax", condition: .when(traits: ["Macros"])),
        .product(name: "SwiftDiagnostics", package: "swift-syntax", condition: .when(traits: ["Macros"])),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
      ], swiftSettings: strict),

    tests(
      "ObjectContextTests",
      [
        "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "SQLCipherConnection", "StoreFiles", "StoreKeys",
        "_StoreSpecification", "_TestSupport",
      ]),

    // Stores of Core Data.
    module(
      "CoreDataImport", ["ObjectModel", "ObjectStore", "ObjectContext", "SQLCipherStore", "SQLCipherConnection", "StoreFiles", "StoreKeys"]),
    tests(
      "CoreDataImportTests",
      [
        "CoreDataImport", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "SQLCipherConnection",
        "StoreFiles", "StoreKeys", "_CoreDataFixture", "_StoreSpecification", "_TestSupport",
      ]),

    // Sources that import CoreData: their declarations with @NSManaged, and what has to change in them.
    module("AccessorSymbols", ["ObjectModel"]),

    // Typed classes.
    module("ModelCodeGeneration", ["ObjectModel"]),
    .executableTarget(
      name: "generate-managed-objects", dependencies: ["ModelCodeGeneration", "ObjectModel"], swiftSettings: strict),
    .plugin(name: "GenerateManagedObjects", capability: .buildTool(), dependencies: ["generate-managed-objects"]),
    .testTarget(
      name: "ModelCodeGenerationTests", dependencies: ["ModelCodeGeneration", "ObjectModel"], exclude: ["Golden"], swiftSettings: strict),
    .testTarget(
      name: "TypedClassesTests", dependencies: ["CipherData", "CipherDataEngine", "_AllocationCounter"], swiftSettings: strict,
      plugins: ["GenerateManagedObjects"]),
    .testTarget(
      name: "OddClassesTests", dependencies: ["CipherData", "CipherDataEngine"], swiftSettings: strict, plugins: ["GenerateManagedObjects"]),

    // What tests share. The specification is a product, so that stores outside this package can be held to it.
    .target(name: "_TestSupport", dependencies: ["ObjectModel"], path: "Tests/_TestSupport", swiftSettings: strict),
    .target(
      name: "_StoreSpecification", dependencies: ["ObjectModel", "ObjectQuery", "ObjectStore", "ObjectContext", "_TestSupport"],
      path: "Tests/_StoreSpecification", swiftSettings: strict),

    // Stands in front of malloc in programs that are linked to it, and counts while it is told to. A product for the benchmarks.
    .target(name: "_AllocationCounter", path: "Tests/_AllocationCounter"),
    tests("AllocationCounterTests", ["_AllocationCounter"]),

    // Stands in front of the system's calls on files and of SQLite's memory: records them, and lets them fail.
    .target(name: "_FaultInjection", dependencies: ["CSQLCipher"], path: "Tests/_FaultInjection"),
    // The stores that proofs work with, and a program that works on them until it is killed.
    .target(
      name: "_ProofStore",
      dependencies: [
        "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "StoreKeys", "_FaultInjection",
        "_StoreSpecification", "_TestSupport",
      ],
      path: "Tests/_ProofStore", swiftSettings: strict),
    .executableTarget(
      name: "_ProofWriter",
      dependencies: [
        "CipherDataToolKit", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "StoreKeys", "_FaultInjection",
        "_ProofStore",
        "_StoreSpecification", "_TestSupport",
      ],
      path: "Tests/_ProofWriter", swiftSettings: strict),
    // The program in whose memory KeyMemoryTests looks for keys.
    .executableTarget(
      name: "_KeyHolder", dependencies: ["ObjectContext", "ObjectModel", "ObjectStore", "SQLCipherStore", "StoreKeys"],
      path: "Tests/_KeyHolder", swiftSettings: strict),
    // The program whose statements, allocations and instructions are pinned in Costs.txt.
    .executableTarget(
      name: "_CountedWork",
      dependencies: [
        "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherConnection", "SQLCipherStore", "StoreKeys", "CLibcrypto",
        "_AllocationCounter", "_TestSupport",
      ],
      path: "Tests/_CountedWork", exclude: ["Costs.txt"], swiftSettings: strict),
    // The store under power cuts, failing calls, too little memory, kills, damaged files and hostile input; Scripts/torture goes as far as there is time.
    tests(
      "ProofTests",
      [
        "CipherDataToolKit", "ModelCodeGeneration", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore",
        "SQLCipherConnection", "StoreFiles", "StoreKeys",
        "_AllocationCounter", "_CountedWork", "_FaultInjection", "_FuzzTargets", "_KeyHolder", "_ProofStore", "_ProofWriter",
        "_StoreSpecification", "_TestSupport",
      ]),

    // What reads bytes that others have written, each with what must be true of it: for the package Fuzzing and for ProofTests.
    .target(
      name: "_FuzzTargets",
      dependencies: [
        "CipherDataToolKit", "CoreDataImport", "ModelCodeGeneration", "ObjectModel", "ObjectQuery", "ObjectStore", "StoreFiles",
        "StoreKeys", "_CoreDataFixture", "_TestSupport",
      ],
      path: "Tests/_FuzzTargets", swiftSettings: strict),

    // Writes store files as Core Data and the encrypted Core Data store lay them out.
    .target(
      name: "_CoreDataFixture", dependencies: ["CSQLCipher", "ObjectModel"], path: "Tests/_CoreDataFixture", swiftSettings: strict),

    tests(
      "ContextSpecificationTests",
      [
        "ObjectContext", "SQLCipherStore", "SQLCipherConnection", "StoreKeys", "ObjectStore", "ObjectQuery", "ObjectModel",
        "_StoreSpecification", "_TestSupport",
      ]),

    // The command-line tool.
    module(
      "CipherDataToolKit",
      [
        "CipherData", "CoreDataImport", "AccessorSymbols", "ModelCodeGeneration", "ObjectModel", "ObjectQuery", "ObjectStore",
        "ObjectContext", "SQLCipherStore", "StoreFiles", "CLibedit", argumentParser,
      ]),
    .executableTarget(name: "CipherDataTool", dependencies: ["CipherDataToolKit", argumentParser], swiftSettings: strict),
    tests("CipherDataToolTests", ["CipherDataToolKit", "CipherDataTool", "_CoreDataFixture", "_TestSupport"]),

    // Rules for the sources themselves: imports, sizes, the public API, the tables of the documentation.
    .testTarget(name: "ArchitectureTests", exclude: ["UnsafeUses.txt"], swiftSettings: strict),
    // Programs that must not compile, and those that must: the examples of the documentation.
    .testTarget(
      name: "CompilationTests",
      dependencies: ["CipherData", "CipherDataEngine", "CoreDataImport", "ModelCodeGeneration", "ObjectModel", "_TestSupport"],
      exclude: ["Fixtures"],
      swiftSettings: strict),
  ]
)

// Sources that import CoreData, where the system has no framework of that name: Documentation/CoreDataSources.md says what is there.
#if os(Linux)
  package.products += [
    .library(name: "CoreData", targets: ["CoreData"]),
    .library(name: "UnifiedLogging", targets: ["UnifiedLogging"]),
    .plugin(name: "CoreDataSources", targets: ["CoreDataSources"]),
  ]
  package.targets += [
    .testTarget(
      name: "AccessorSymbolsTests", dependencies: ["AccessorSymbols", "ObjectModel", "_TestSupport"], exclude: ["Fixtures"],
      swiftSettings: strict),
    .executableTarget(name: "generate-core-data-sources", dependencies: ["AccessorSymbols"], swiftSettings: strict),
    .plugin(name: "CoreDataSources", capability: .buildTool(), dependencies: ["generate-core-data-sources"]),
    module("CoreData", ["CProcessor", "ObjectModel", "ObjectQuery", "ObjectStore", "ObjectContext", "SQLCipherStore", "StoreKeys"]),
    // The names of os and OSLog for sources that write messages. Nothing else depends on it.
    module("UnifiedLogging", [logging]),
    tests("UnifiedLoggingTests", ["UnifiedLogging", logging]),
    // Written as applications are: without the settings of the library's own code.
    .testTarget(
      name: "CoreDataTests", dependencies: ["CoreData", "ObjectStore", "StoreKeys"],
      resources: [.copy("Ledger.xcdatamodeld"), .copy("Library.xcdatamodeld")],
      plugins: ["CoreDataSources"]),
  ]
#endif

// `swift package generate-documentation`, for those who ask for it: users of the package do not fetch the plugin. The articles and all modules on one page are made by
// Scripts/documentation.
if Context.environment["CIPHERDATA_DOCUMENTATION"] == "1" {
  package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.4.0"))
}
