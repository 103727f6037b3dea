// CoreDataSources: a build-tool plugin that makes sources written for Core Data find what they need on Linux.
import Foundation
import PackagePlugin

/// Writes a file into a target whose sources import CoreData: the accessors of its declarations with `@NSManaged`, the table of its classes, and the names
/// that Foundation has too.
@main struct CoreDataSources: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let dependencies = target.recursiveTargetDependencies
    // Neither the module CoreData nor what it is made of has types that managed properties could name.
    var passed = Set(dependencies.filter { $0.name == "CoreData" }.flatMap { [$0.id] + $0.recursiveTargetDependencies.map(\.id) })
    passed.insert(target.id)
    let others = dependencies.filter { !passed.contains($0.id) }.compactMap { $0 as? any SourceModuleTarget }
    let modules = ([target] + others).map { ($0.moduleName, $0.sourceFiles(withSuffix: "swift").map(\.url)) }
    let output = context.pluginWorkDirectoryURL.appendingPathComponent("CoreDataSources.swift")
    let arguments = modules.flatMap { module, sources in ["--module", module] + sources.flatMap { ["--source", $0.path] } }
    return [
      .buildCommand(
        displayName: "Write the accessors of \(target.name)", executable: try context.tool(named: "generate-core-data-sources").url,
        arguments: ["--output", output.path] + arguments, inputFiles: modules.flatMap(\.1), outputFiles: [output])
    ]
  }
}
