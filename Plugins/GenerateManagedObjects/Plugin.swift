import PackagePlugin

@main struct GenerateManagedObjects: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] { [] }
}
