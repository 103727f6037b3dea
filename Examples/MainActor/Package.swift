// swift-tools-version: 6.2
// MainActor: applications with the main actor as default isolation, as new ones have. A separate package, since the setting requires tools
// version 6.2, while the library requires 6.1.
import PackageDescription

/// The main actor is the default.
let mainActor: [SwiftSetting] = [.defaultIsolation(MainActor.self)]
let cipherData: Target.Dependency = .product(name: "CipherData", package: "CipherData")
let generator: Target.PluginUsage = .plugin(name: "GenerateManagedObjects", package: "CipherData")

let package = Package(
  name: "MainActor",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "CipherData", path: "../..", traits: [])],
  targets: [
    // Classes in a separate target, and the application.
    .target(name: "Library", dependencies: [cipherData], swiftSettings: mainActor, plugins: [generator]),
    .executableTarget(name: "Reader", dependencies: ["Library", cipherData], swiftSettings: mainActor),
    // Both in one target, in the Swift 5 language mode.
    .executableTarget(
      name: "Swift5Reader", dependencies: [cipherData], swiftSettings: mainActor + [.swiftLanguageMode(.v5)], plugins: [generator]),
    .testTarget(name: "ReaderTests", dependencies: ["Library", "Reader", "Swift5Reader"], swiftSettings: mainActor),
  ]
)
