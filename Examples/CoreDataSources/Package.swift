// swift-tools-version: 6.1
// CoreDataSources: the model layer of an application for Core Data, as in Xcode's templates and guides, after `cipherdata port-sources`. On
// Linux, `import CoreData` imports this library's module; on Apple's systems, their framework. SWIFT_MODE=5 in the environment builds it in
// the Swift 5 language mode.
import PackageDescription

let mode: [SwiftLanguageMode] = Context.environment["SWIFT_MODE"] == "5" ? [.v5] : [.v6]
#if os(Linux)
  let coreData: [Target.Dependency] = [.product(name: "CoreData", package: "CipherData")]
  let accessors: [Target.PluginUsage] = [.plugin(name: "CoreDataSources", package: "CipherData")]
#else
  let coreData: [Target.Dependency] = []
  let accessors: [Target.PluginUsage] = []
#endif

let package = Package(
  name: "CoreDataSources",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "CipherData", path: "../..", traits: [])],
  targets: [
    .target(name: "Reading", dependencies: coreData, resources: [.copy("Reading.xcdatamodeld")], plugins: accessors),
    .testTarget(name: "ReadingTests", dependencies: ["Reading"] + coreData, plugins: accessors),
  ],
  swiftLanguageModes: mode
)
