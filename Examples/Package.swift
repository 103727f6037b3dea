// swift-tools-version: 6.1
// Examples: applications of CipherData that use only its public API.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "CipherData", path: "..", traits: []),
    // A test observes the statements that the library logs.
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    // A store class of the application.
    .target(
      name: "JSONFileStore", dependencies: [.product(name: "CipherDataEngine", package: "CipherData")], swiftSettings: strict),
    .testTarget(
      name: "JSONFileStoreTests",
      dependencies: [
        "JSONFileStore", .product(name: "CipherDataEngine", package: "CipherData"),
        .product(name: "_StoreSpecification", package: "CipherData"),
      ], swiftSettings: strict),
    // The README's example, with the model of its classes.
    .executableTarget(
      name: "Quickstart", dependencies: [.product(name: "CipherData", package: "CipherData")], exclude: ["Library.xcdatamodeld"],
      swiftSettings: strict, plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .testTarget(name: "QuickstartTests", dependencies: ["Quickstart"], swiftSettings: strict),
    // The cost of traversing relationships without prefetching.
    .executableTarget(
      name: "Walk", dependencies: [.product(name: "CipherData", package: "CipherData")], exclude: ["Shop.xcdatamodeld"],
      swiftSettings: strict, plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .testTarget(
      name: "WalkTests",
      dependencies: ["Walk", .product(name: "CipherData", package: "CipherData"), .product(name: "Logging", package: "swift-log")],
      swiftSettings: strict),
    // An application: a document in two processes, live results, undo in a child context, snapshots, an import in the background, a
    // migration.
    .executableTarget(
      name: "Journal",
      dependencies: [
        .product(name: "CipherData", package: "CipherData"), .product(name: "CipherDataDocuments", package: "CipherData"),
      ], exclude: ["Journal.xcdatamodeld"],
      swiftSettings: strict, plugins: [.plugin(name: "GenerateManagedObjects", package: "CipherData")]),
    .testTarget(
      name: "JournalTests",
      dependencies: [
        "Journal", .product(name: "CipherData", package: "CipherData"), .product(name: "CipherDataDocuments", package: "CipherData"),
      ], swiftSettings: strict),
  ]
)
