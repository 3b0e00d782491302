//! `mcp-bridge` joins MCP clients to the ComputerCraft computers of a Minecraft world.
