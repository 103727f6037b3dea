import Foundation
import PackagePlugin

/// A build-tool plugin that supplies the declarations that sources written for Core Data need on Linux. For a target that imports CoreData,
/// it writes a file with the accessors of its `@NSManaged` declarations, the table of its classes, the names that Foundation declares too,
/// and the generated classes of its models.
@main struct CoreDataSources: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let dependencies = target.recursiveTargetDependencies
    // Neither the CoreData module nor its dependencies declare types that managed properties can name.
    var passed = Set(dependencies.filter { $0.name == "CoreData" }.flatMap { [$0.id] + $0.recursiveTargetDependencies.map(\.id) })
    passed.insert(target.id)
    let others = dependencies.filter { !passed.contains($0.id) }.compactMap { $0 as? any SourceModuleTarget }
    let modules = ([target] + others).map { ($0.moduleName, $0.sourceFiles(withSuffix: "swift").map(\.url), models(in: $0.directoryURL)) }
    let output = context.pluginWorkDirectoryURL.appendingPathComponent("CoreDataSources.swift")
    let arguments = modules.flatMap { module, sources, models in
      ["--module", module] + sources.flatMap { ["--source", $0.path] } + models.flatMap { ["--model", $0.path] }
    }
    return [
      .buildCommand(
        displayName: "Write the accessors of \(target.name)", executable: try context.tool(named: "generate-core-data-sources").url,
        arguments: ["--output", output.path] + arguments, inputFiles: modules.flatMap(\.1) + modules.flatMap(\.2).flatMap(files),
        outputFiles: [output])
    ]
  }

  /// The models in a target's folder.
  private func models(in folder: URL) -> [URL] {
    let found = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    let models = found.filter { ["xcdatamodeld", "xcdatamodel"].contains($0.pathExtension) }
    let deeper = found.filter { $0.pathExtension.isEmpty && $0.hasDirectoryPath && !$0.lastPathComponent.hasPrefix(".") }.flatMap(
      models(in:))
    return (models + deeper).sorted { $0.path < $1.path }
  }

  /// The files of a model.
  private func files(of model: URL) -> [URL] {
    let walk = FileManager.default.enumerator(at: model, includingPropertiesForKeys: [.isRegularFileKey])
    var files: [URL] = []
    while let url = walk?.nextObject() as? URL { if !url.hasDirectoryPath { files.append(url) } }
    return files.sorted { $0.path < $1.path }
  }
}
