import Foundation
import PackagePlugin

/// A build-tool plugin that generates the typed classes of a target's models before the target is compiled.
///
/// `CipherDataModel.json` in the target's folder lists the models, with paths relative to the package's folder:
///
/// ```json
/// { "models": [ { "model": "Schemas/DebianArchive.xcdatamodeld", "access": "internal", "imports": [] } ] }
/// ```
///
/// A single model can be given without the list. Without `access`, the classes are public, and internal in executables and tests. Without
/// that file, the plugin uses every `.xcdatamodeld` and `.xcdatamodel` in the target's folder.
///
/// A build is planned again only when files are added or removed. So the plugin does not read the file; the generator does, which has the
/// file as input and one output with a fixed name.
@main struct GenerateManagedObjects: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "generate-managed-objects").url
    // Code that no module imports need not be public, and its classes can then use types that are not.
    let common = ["--module", target.moduleName, "--access", target.kind == .generic ? "public" : "internal"]
    let file = target.directoryURL.appendingPathComponent("CipherDataModel.json")
    if FileManager.default.fileExists(atPath: file.path) { return [configured(file, target, tool, context, common)] }
    let models = models(in: target.directoryURL)
    if models.isEmpty {
      Diagnostics.warning("GenerateManagedObjects found no model: add a CipherDataModel.json or an .xcdatamodeld to the target's folder")
    }
    return models.map { url in
      let name = url.deletingPathExtension().lastPathComponent
      let output = context.pluginWorkDirectoryURL.appendingPathComponent("\(name)+ManagedObjects.swift")
      return .buildCommand(
        displayName: "Generate the classes of \(name)", executable: tool,
        arguments: ["--model", url.path, "--output", output.path, "--name", name] + common,
        inputFiles: files(of: url), outputFiles: [output])
    }
  }

  private func configured(
    _ file: URL, _ target: any SourceModuleTarget, _ tool: URL, _ context: PluginContext, _ common: [String]
  ) -> Command {
    let package = context.package.directoryURL
    // Track edits of any model that the file may name later.
    var bundles = models(in: package)
    bundles += named(in: file, package).filter { url in !bundles.contains { $0.path == url.path } }
    let inputs = bundles.flatMap(files(of:))
    let output = context.pluginWorkDirectoryURL.appendingPathComponent("CipherDataModel+ManagedObjects.swift")
    let arguments = ["--configuration", file.path, "--package", package.path, "--output", output.path] + common
    return .buildCommand(
      displayName: "Generate the classes of \(target.name)", executable: tool,
      arguments: arguments + inputs.flatMap { ["--planned", $0.path] }, inputFiles: [file] + inputs, outputFiles: [output])
  }

  /// The models that the file names when the build is planned, some of which can be outside of the package. The generator reports errors in
  /// the file.
  private func named(in file: URL, _ package: URL) -> [URL] {
    guard let data = try? Data(contentsOf: file), let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
      return []
    }
    let models = object["models"] as? [[String: Any]] ?? [object]
    return models.compactMap { $0["model"] as? String }.map { path in
      (path.hasPrefix("/") ? URL(fileURLWithPath: path) : package.appendingPathComponent(path)).standardizedFileURL
    }
  }

  /// The models in a folder, except for those of nested packages.
  private func models(in folder: URL) -> [URL] {
    let walk = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
    var models: [URL] = []
    while let url = walk?.nextObject() as? URL {
      if ["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension) {
        // The versions in a bundle are not separate models.
        walk?.skipDescendants()
        models.append(url)
      } else if url.lastPathComponent == "node_modules"
        || FileManager.default.fileExists(atPath: url.appendingPathComponent("Package.swift").path)
      {
        walk?.skipDescendants()
      }
    }
    return models.sorted { $0.path < $1.path }
  }

  /// The files of a model, so that a change of any file regenerates the classes.
  private func files(of url: URL) -> [URL] {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else { return [] }
    guard isDirectory.boolValue else { return [url] }
    let walk = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
    var files: [URL] = []
    while let file = walk?.nextObject() as? URL {
      if ["contents", "elements", ".xccurrentversion"].contains(file.lastPathComponent) { files.append(file) }
    }
    // The bundle itself is included, so that SwiftPM does not report it as unhandled in the target's folder.
    return [url] + files.sorted { $0.path < $1.path }
  }
}
