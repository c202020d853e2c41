# PowerShell completion for wfr. In $PROFILE:  wfr completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName wfr -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # A string without variables has a value; anything else is passed as it is written.
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($_.PSObject.Properties['Value']) { "$($_.Value)" } else { $_.Extent.Text } })
    $word = "$wordToComplete" -replace '^[''"]' -replace '[''"]$'
    # PowerShell before 7.3 drops an empty argument.
    $last = if ($word -eq '' -and $PSVersionTable.PSVersion -lt [version]'7.3') { '""' } else { $word }

    function New-Result($value, $shown, $description) {
        $text = if ($value -match '^[A-Za-z0-9_./\\~-][A-Za-z0-9_./\\:=@+~-]*$') { $value }
        else { "'" + $value.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $shown, 'ParameterValue', $description)
    }

    foreach ($line in @(& wfr __complete powershell '--' @words $last 2>$null)) {
        $fields = $line.Split("`t")
        if ($fields[0] -ne '') {
            $description = if ($fields.Count -gt 1) { $fields[1] } else { $fields[0] }
            New-Result $fields[0] $fields[0] $description
            continue
        }
        # An empty candidate asks for files, after the start of the word.
        $start = $fields[2]
        $paths = [System.Management.Automation.CompletionCompleters]::CompleteFilename($word.Substring($start.Length))
        foreach ($path in $paths) {
            if ($fields[1] -eq 'folders' -and $path.ResultType -ne 'ProviderContainer') { continue }
            # Quotation marks are added around the whole word.
            $name = $path.CompletionText -replace '^& ' -replace "^'(.*)'$", '$1' -replace "''", "'"
            New-Result ($start + $name) $path.ListItemText $path.ToolTip
        }
    }
}
