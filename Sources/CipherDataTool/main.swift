// The command-line tool `cipherdata`; everything it does is in CipherDataToolKit.
import CipherDataToolKit
import Dispatch
import Foundation

// Before anything opens a file.
Tool.keepStandardDescriptors()
if let status = Tool.statusWithoutText() { exit(status) }
// Before anything waits: waiting takes descriptors, and without them the process would end without a word.
if let status = Tool.statusWithoutResources() { exit(status) }
Task.detached { exit(await Tool.run(Array(CommandLine.arguments.dropFirst()))) }
dispatchMain()
