// swift-tools-version: 6.1
// CipherData: Core Data for every Swift platform, encrypted from the first byte.
import CompilerPluginSupport
import Foundation
import PackageDescription

/// Enables consistency checks of internal data structures in the library's own tests; Scripts/test sets the variable. Builds of applications do not
/// contain the checks, not even in debug.
let checks: [SwiftSetting] = Context.environment["CIPHERDATA_CHECKS"] == "1" ? [.define("CIPHERDATA_CHECKS")] : []

/// Instruments this package for libFuzzer, but not its dependencies; Scripts/fuzz-program sets the variable. With instrumented dependencies, fuzzing the tool's
/// arguments takes 1.5 times as long, and most inputs are kept only because they reach new code in the argument parser.
let coverage: [SwiftSetting] = Context.environment["CIPHERDATA_FUZZING"] == "1" ? [.unsafeFlags(["-sanitize=fuzzer"])] : []

/// The settings of all targets of this package. The language mode is Swift 6, the default of the tools version.
let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + checks + coverage

/// Returns the target of a module of the library.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// Returns the test target of a module.
func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

/// Whether this package is a dependency of another one. Its manifest is then in that package's checkouts, or has no folder during version resolution.
let isFetched: Bool = {
  let folder = URL(fileURLWithPath: Context.packageDirectory).deletingLastPathComponent()
  let repositories = folder.deletingLastPathComponent().appendingPathComponent("repositories")
  return Context.packageDirectory == "/"
    || folder.lastPathComponent == "checkouts" && FileManager.default.fileExists(atPath: repositories.path)
}()

/// Clones build the tool by default. Applications that depend on the package do not, and therefore do not fetch the argument parser.
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
    .library(name: "CipherDataDocuments", targets: ["CipherDataDocuments"]),
    .library(name: "CipherDataEngine", targets: ["CipherDataEngine"]),
    .library(name: "CipherDataSync", targets: ["CipherDataSync"]),
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
    // With the trait Tool only.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    // With the trait Macros only.
    .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.1"..<"700.0.0"),
  ],
  targets: [
    // The system's libraries.
    .systemLibrary(name: "CSQLCipher", pkgConfig: "sqlcipher", providers: [.apt(["libsqlcipher-dev"])]),
    .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // Features of the compiler, the processor and the system that are available only in C; see its header.
    .systemLibrary(name: "CProcessor"),
    // For the tool only.
    .systemLibrary(name: "CLibedit", pkgConfig: "libedit", providers: [.apt(["libedit-dev"])]),

    // The library, from the bottom up.
    // Runs before `main`, so it is C.
    .target(name: "CLibcryptoAtExit", dependencies: ["CLibcrypto"], publicHeadersPath: "."),
    module("StoreKeys", ["CLibcrypto", "CLibcryptoAtExit"]),
    tests("StoreKeysTests", ["StoreKeys"]),
    module("StoreFiles", ["CProcessor", "StoreKeys"]),
    tests("StoreFilesTests", ["StoreFiles", "StoreKeys", "_TestSupport"]),
    module("SQLCipherConnection", ["CSQLCipher", "StoreKeys", "StoreFiles"]),
    tests(
      "SQLCipherConnectionTests", ["SQLCipherConnection", "StoreFiles", "StoreKeys", "_FailingLibcrypto", "_TestSupport"],
      resources: [.copy("Fixtures")]),
    // Allocations of libcrypto that fail.
    .target(name: "_FailingLibcrypto", dependencies: ["CLibcrypto"], path: "Tests/_FailingLibcrypto"),
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
    // Documents: folders with a store. Users of a store alone do not compile it.
    module("CipherDataDocuments", ["ObjectModel", "ObjectStore", "ObjectContext"]),
    // Synchronization: the protocol of devices and hubs, and the simulator that tests it. Scripts/simulate runs many simulations.
    module("SyncCore"),
    .target(
      name: "_SyncSimulation", dependencies: ["SyncCore"], path: "Tests/_SyncSimulation", exclude: ["PlantedFaults.txt"],
      swiftSettings: strict),
    .executableTarget(name: "_SimulateSync", dependencies: ["_SyncSimulation"], path: "Tests/_SimulateSync", swiftSettings: strict),
    tests("SyncCoreTests", ["SyncCore", "_SyncSimulation"]),
    module("SyncCrypto", ["SyncCore", "StoreKeys", "CLibcrypto"]),
    tests("SyncCryptoTests", ["SyncCrypto", "SyncCore", "StoreKeys"]),
    module("SyncHub", ["SyncCore", "SQLCipherConnection", "StoreFiles", "StoreKeys"]),
    // Hubs of tests that pass requests on.
    .target(
      name: "_ForwardingHub", dependencies: ["SyncCore", "SyncHub"], path: "Tests/_ForwardingHub", swiftSettings: strict),
    tests(
      "SyncHubTests", ["SyncHub", "SyncCore", "SQLCipherConnection", "StoreFiles", "StoreKeys", "_FaultInjection", "_TestSupport"]),
    module(
      "SyncEngine",
      [
        "SyncCore", "SyncCrypto", "SyncHub", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "StoreFiles",
        "StoreKeys",
      ]),
    tests(
      "SyncEngineTests",
      [
        "SyncEngine", "SyncCore", "SyncCrypto", "SyncHub", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore",
        "SQLCipherConnection", "SQLCipherStore", "StoreKeys", "_ForwardingHub", "_StoreSpecification", "_SyncSimulation",
        "_TestSupport",
      ]),
    // What an application imports to synchronize its stores.
    module(
      "CipherDataSync",
      ["ObjectContext", "ObjectModel", "ObjectStore", "SQLCipherStore", "SyncCore", "SyncCrypto", "SyncEngine", "SyncHub"]),
    tests("CipherDataSyncTests", ["CipherData", "CipherDataSync", "_TestSupport"]),
    // Empty without the trait Macros.
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
        "CipherDataDocuments", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore", "SQLCipherConnection",
        "StoreFiles", "StoreKeys", "_StoreSpecification", "_TestSupport",
      ]),

    // Import of Core Data's stores.
    module(
      "CoreDataImport", ["ObjectModel", "ObjectStore", "ObjectContext", "SQLCipherStore", "SQLCipherConnection", "StoreFiles", "StoreKeys"]),
    tests(
      "CoreDataImportTests",
      [
        "CipherDataDocuments", "CoreDataImport", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore",
        "SQLCipherConnection", "SyncEngine", "StoreFiles", "StoreKeys", "_CoreDataFixture", "_StoreSpecification", "_TestSupport",
      ]),

    // Sources that import CoreData: their @NSManaged declarations, and the changes that they need on Linux.
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
      name: "UnusualClassesTests", dependencies: ["CipherData", "CipherDataEngine"], swiftSettings: strict,
      plugins: ["GenerateManagedObjects"]),

    // Shared by tests. The specification is a product, so that stores outside this package can run it.
    .target(name: "_TestSupport", dependencies: ["ObjectModel"], path: "Tests/_TestSupport", swiftSettings: strict),
    .target(
      name: "_StoreSpecification", dependencies: ["ObjectModel", "ObjectQuery", "ObjectStore", "ObjectContext", "_TestSupport"],
      path: "Tests/_StoreSpecification", swiftSettings: strict),

    // Intercepts malloc in programs that link it, and counts allocations on request. A product for the benchmarks.
    .target(name: "_AllocationCounter", path: "Tests/_AllocationCounter"),
    tests("AllocationCounterTests", ["_AllocationCounter"]),

    // Intercepts file system calls and SQLite's allocations: records them, and makes them fail on request.
    .target(name: "_FaultInjection", dependencies: ["CSQLCipher"], path: "Tests/_FaultInjection"),
    // The stores of the fault tests, and a program that writes to them until it is killed.
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
    // A program that synchronizes a store until it is killed.
    .executableTarget(
      name: "_SyncWriter", dependencies: ["CipherData", "CipherDataSync", "_FaultInjection", "_ProofStore", "_TestSupport"],
      path: "Tests/_SyncWriter", swiftSettings: strict),
    // A program that uses a store at the same time as others, and records what it reads.
    .executableTarget(
      name: "_OperationWriter", dependencies: ["CipherData", "_ProofStore", "_TestSupport"], path: "Tests/_OperationWriter",
      swiftSettings: strict),
    // The program of Scripts/cost-reconciliation.
    .executableTarget(
      name: "_CountedSync",
      dependencies: [
        "ObjectContext", "ObjectModel", "ObjectStore", "SQLCipherStore", "StoreKeys", "SyncCore", "SyncCrypto", "SyncEngine", "SyncHub",
        "_ForwardingHub",
      ],
      path: "Tests/_CountedSync", swiftSettings: strict),
    // The program whose memory KeyMemoryTests searches for keys.
    .executableTarget(
      name: "_KeyHolder", dependencies: ["ObjectContext", "ObjectModel", "ObjectStore", "SQLCipherStore", "StoreKeys"],
      path: "Tests/_KeyHolder", swiftSettings: strict),
    // The program that ends while its threads save.
    .executableTarget(
      name: "_ExitDuringWork", dependencies: ["ObjectContext", "ObjectModel", "ObjectStore", "SQLCipherStore", "StoreKeys"],
      path: "Tests/_ExitDuringWork", swiftSettings: strict),
    // The program whose statements, allocations and instructions are pinned in Costs.txt.
    .executableTarget(
      name: "_CountedWork",
      dependencies: [
        "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherConnection", "SQLCipherStore", "StoreKeys", "CLibcrypto",
        "_AllocationCounter", "_TestSupport",
      ],
      path: "Tests/_CountedWork", exclude: ["Costs.txt"], swiftSettings: strict),
    // Fault tests: power cuts, failing calls, failing allocations, kills, damaged files and hostile input. Scripts/torture runs them for longer.
    tests(
      "ProofTests",
      [
        "CipherDataToolKit", "ModelCodeGeneration", "ObjectContext", "ObjectModel", "ObjectQuery", "ObjectStore", "SQLCipherStore",
        "SQLCipherConnection", "StoreFiles", "StoreKeys",
        "_AllocationCounter", "_CountedWork", "_ExitDuringWork", "_FaultInjection", "_FuzzTargets", "_KeyHolder",
        "_OperationWriter", "_ProofStore", "_ProofWriter", "_StoreSpecification", "_SyncWriter", "_TestSupport",
      ]),

    // The parsers of untrusted bytes, each with its invariants, for the package Fuzzing and for ProofTests.
    .target(
      name: "_FuzzTargets",
      dependencies: [
        "CipherDataToolKit", "CoreDataImport", "ModelCodeGeneration", "ObjectModel", "ObjectQuery", "ObjectStore", "StoreFiles",
        "StoreKeys", "_CoreDataFixture", "_TestSupport",
      ],
      path: "Tests/_FuzzTargets", swiftSettings: strict),

    // Writes store files in the formats of Core Data and of the encrypted Core Data store.
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
        "ObjectContext", "SQLCipherStore", "StoreFiles", "SyncCore", "SyncCrypto", "SyncEngine", "SyncHub", "CLibedit", argumentParser,
      ]),
    .executableTarget(name: "CipherDataTool", dependencies: ["CipherDataToolKit", argumentParser], swiftSettings: strict),
    tests(
      "CipherDataToolTests",
      ["CipherDataToolKit", "CipherDataTool", "SyncCore", "SyncCrypto", "SyncEngine", "SyncHub", "_CoreDataFixture", "_TestSupport"]),

    // Rules for the sources: imports, sizes, the public API, the tables of the documentation.
    .testTarget(name: "ArchitectureTests", exclude: ["UnsafeUses.txt"], swiftSettings: strict),
    // Programs that must not compile, and the documentation's examples, which must.
    .testTarget(
      name: "CompilationTests",
      dependencies: [
        "CipherData", "CipherDataDocuments", "CipherDataEngine", "CipherDataSync", "CoreDataImport", "ModelCodeGeneration", "ObjectModel",
        "_TestSupport",
      ],
      exclude: ["Fixtures"],
      swiftSettings: strict),
  ]
)

// The module CoreData for systems without the framework; Documentation/CoreDataSources.md describes it.
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
    // The API of os and OSLog. No other module depends on it.
    module("UnifiedLogging", [logging]),
    tests("UnifiedLoggingTests", ["UnifiedLogging", logging]),
    // Built with the settings of an application.
    .testTarget(
      name: "CoreDataTests", dependencies: ["CoreData", "ObjectStore", "StoreKeys"],
      resources: [.copy("Ledger.xcdatamodeld"), .copy("Library.xcdatamodeld")],
      plugins: ["CoreDataSources"]),
  ]
#endif

// The plugin for `swift package generate-documentation`, on request only, so that users of the package do not fetch it. Scripts/documentation writes the articles and
// the pages of all modules.
if Context.environment["CIPHERDATA_DOCUMENTATION"] == "1" {
  package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.4.0"))
}
