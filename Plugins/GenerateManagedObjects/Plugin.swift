// GenerateManagedObjects: a build-tool plugin that writes the typed classes of a target's models.
import Foundation
import PackagePlugin

/// Turns models into Swift classes before a target is compiled.
///
/// The models are those that `CipherDataModel.json` in the target's folder names, by paths from the package's folder:
///
/// ```json
/// { "models": [ { "model": "Schemas/DebianArchive.xcdatamodeld", "access": "internal", "imports": [] } ] }
/// ```
///
/// (one model may stand without the list; where `access` is left out the classes are public, and internal in executables and tests), or, without that file, every `.xcdatamodeld` and `.xcdatamodel` in the target's folder.
///
/// A build is planned anew only when files come or go. So what the file says is not read here but by the generator, whose input it is, and whose one output
/// has the same name whatever the file says.
@main struct GenerateManagedObjects: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "generate-managed-objects").url
    // What nobody imports need not be public, and its classes may then have types that are not.
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
    // Whatever model the file comes to name, its edits are to be seen.
    var bundles = models(in: package)
    bundles += named(in: file, package).filter { url in !bundles.contains { $0.path == url.path } }
    let inputs = bundles.flatMap(files(of:))
    let output = context.pluginWorkDirectoryURL.appendingPathComponent("CipherDataModel+ManagedObjects.swift")
    let arguments = ["--configuration", file.path, "--package", package.path, "--output", output.path] + common
    return .buildCommand(
      displayName: "Generate the classes of \(target.name)", executable: tool,
      arguments: arguments + inputs.flatMap { ["--planned", $0.path] }, inputFiles: [file] + inputs, outputFiles: [output])
  }

  /// The models that the file names as the build is planned, some of which may lie outside the package; the generator says what is wrong with the file.
  private func named(in file: URL, _ package: URL) -> [URL] {
    guard let data = try? Data(contentsOf: file), let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
      return []
    }
    let models = object["models"] as? [[String: Any]] ?? [object]
    return models.compactMap { $0["model"] as? String }.map { path in
      (path.hasPrefix("/") ? URL(fileURLWithPath: path) : package.appendingPathComponent(path)).standardizedFileURL
    }
  }

  /// The models in a folder; those of packages within it are their own.
  private func models(in folder: URL) -> [URL] {
    let walk = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
    var models: [URL] = []
    while let url = walk?.nextObject() as? URL {
      if ["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension) {
        // The versions inside a bundle are not models of their own.
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

  /// The files of a model, so that a change of any of them writes the classes again.
  private func files(of url: URL) -> [URL] {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else { return [] }
    guard isDirectory.boolValue else { return [url] }
    let walk = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
    var files: [URL] = []
    while let file = walk?.nextObject() as? URL {
      if ["contents", "elements", ".xccurrentversion"].contains(file.lastPathComponent) { files.append(file) }
    }
    // The bundle itself is named too, so that SwiftPM does not call it unhandled when it lies in the target's folder.
    return [url] + files.sorted { $0.path < $1.path }
  }
}
